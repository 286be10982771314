#![doc = include_str!("../FORMAT.md")]

/// First bytes of every trace. The line ends and the bytes outside ASCII reveal a transfer as text.
pub const MAGIC: [u8; 8] = *b"\x89CTP\r\n\x1a\n";
/// Major version. Grows when an older reader would misread a file.
pub const MAJOR: u16 = 1;
/// Minor version. Grows when something is added that an older reader skips.
pub const MINOR: u16 = 6;
/// Feature bit, since 1.3: a block may have up to [`MAX_ROWS`] rows instead of [`MAX_RECORDS`].
pub const LONG_BLOCKS: u64 = 1;
/// Feature bits of the file header that this version understands and writes.
pub const FEATURES: u64 = LONG_BLOCKS;
/// Minimum size of a file header, in bytes.
pub const FILE_HEADER_BYTES: usize = 32;
/// Size of the largest file header that a reader accepts, in bytes.
pub const MAX_FILE_HEADER_BYTES: usize = 4096;

/// First bytes of every chunk; a reader searches for them after damage.
pub const CHUNK_MARK: [u8; 4] = *b"\xC7tpk";
/// Size of a chunk header in bytes.
pub const CHUNK_HEADER_BYTES: usize = 32;
/// Flag of a chunk: the payload is one or more zstd frames.
pub const COMPRESSED: u16 = 1;
/// Flags of a chunk that this version understands.
pub const CHUNK_FLAGS: u16 = COMPRESSED;

// Numbers of chunk types are never reused. Those that are missing below are unused.

/// Chunk type: where and when the recording began.
pub const START: u16 = 1;
/// Chunk type: processes.
pub const PROCESS: u16 = 2;
/// Chunk type: mapped files.
pub const MODULE: u16 = 3;
/// Chunk type: places in the program.
pub const SITE: u16 = 4;
/// Chunk type: coroutines, with their names.
pub const BIRTH: u16 = 5;
/// Chunk type: events, wakes, event counts and thread events.
pub const BLOCK: u16 = 6;
/// Chunk type: the final account.
pub const END: u16 = 7;

/// Chunk type, since 1.1: processes that ended.
pub const PROCESS_END: u16 = 8;
/// Chunk type, since 1.2: aggregates.
pub const AGGREGATE: u16 = 10;

/// Chunk type, since 1.2: changes of the filter.
pub const CONTROL: u16 = 11;

/// Chunk type, since 1.2: records of flight recorders only.
pub const FLIGHT: u16 = 12;

/// Chunk type, since 1.2: await chains.
pub const CHAIN: u16 = 13;

/// Chunk type, since 1.2: observations of descriptors.
pub const LOOK: u16 = 16;

/// Chunk type, since 1.4: the time up to which the trace is complete.
pub const WATERMARK: u16 = 17;

/// Chunk type, since 1.6: the branches of waits.
pub const BRANCHES: u16 = 18;

/// Chunk type, since 1.6: inspections.
pub const INSPECTION: u16 = 20;

/// Chunk type, since 1.6: observations of threads.
pub const THREADS: u16 = 22;

/// Chunk type, since 1.6: observations of sockets.
pub const SOCKETS: u16 = 24;

/// Chunk type, since 1.6: what leaf futures wait for.
pub const LEAF: u16 = 26;

/// Chunk type, since 1.6: call stacks of coroutines.
pub const STACK: u16 = 28;

/// Maximum payload of a chunk before compression, in bytes. Only a single huge record comes near this size.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;
/// Maximum number of records in a chunk, and of rows in a block of a file without [`LONG_BLOCKS`].
pub const MAX_RECORDS: usize = 4096;
/// Maximum number of rows and thread events in a block of a file with [`LONG_BLOCKS`]. The limit is high because predictions and
/// compression start again in each block.
pub const MAX_ROWS: usize = 16384;
/// Maximum number of a command's arguments that a reader accepts; the kernel's limit is lower.
pub const MAX_ARGUMENTS: u64 = 1 << 20;
/// Maximum total size of all arguments that a reader accepts, in bytes; the kernel's limit is lower.
pub const MAX_ARGUMENT_BYTES: usize = 8 << 20;
/// Maximum length of a name or path in bytes that a reader accepts. A probe keeps at most 512 bytes of a
/// name, and a path has at most 4096.
pub const MAX_NAME_BYTES: usize = 1 << 20;
/// Maximum number of addresses in a chain that a reader accepts.
pub const MAX_ADDRESSES: u64 = 4096;
/// Maximum number of entries of a list in a record that a reader accepts. Arguments, addresses and ids have
/// limits of their own.
pub const MAX_ENTRIES: u64 = 4096;
/// Maximum number of ids in a list that a reader accepts.
pub const MAX_IDS: u64 = 1 << 20;
/// Maximum size of a record that the writer accepts outside of a block, in bytes. The limit leaves room for
/// the records that are already waiting.
pub const MAX_RECORD_BYTES: usize = MAX_PAYLOAD_BYTES - 2 * FULL_PAYLOAD_BYTES;
/// Payload size at which the writer ends a chunk, in bytes.
pub const FULL_PAYLOAD_BYTES: usize = 64 << 10;
/// Payload size below which the writer does not try to compress, in bytes.
pub const SMALL_PAYLOAD_BYTES: usize = 128;

//! Whether a frame pointer can be followed at an address, according to the module's unwind table
//! (`.eh_frame`). Programs without debug info have this table too.
//!
//! A function keeps a frame pointer where the call frame address, the return address and the caller's
//! frame pointer are at known distances from that register. The ABIs of x86-64 and AArch64 define the
//! last two: the caller's frame pointer is at the register's address, the return address a word above.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, FrameDescriptionEntry, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindSection, UnwindTableRow,
};
use object::{Architecture, Object, ObjectSection, ReadRef};

use crate::addr::Svma;
use crate::file::image::Image;

type Reader<'i> = gimli::EndianSlice<'i, LittleEndian>;

/// The unwind table of a file, and the numbers of the registers that matter.
pub(crate) struct UnwindTable {
    image: Image,
    index: Section,
    frames: Section,
    bases: BaseAddresses,
    registers: Registers,
}

/// Where a section is.
struct Section {
    /// The address at which the section is loaded, as stated in the file.
    start: u64,
    /// The offset in the file.
    offset: u64,
    /// The size in bytes.
    bytes: u64,
}

/// DWARF register numbers.
#[derive(Clone, Copy)]
struct Registers {
    frame_pointer: Register,
    return_address: Register,
}

const WORD_BYTES: i64 = 8;

impl UnwindTable {
    /// `None` if the file has no table with an index, or is for neither x86-64 nor AArch64.
    pub(crate) fn of(image: Image) -> Option<Self> {
        let object = object::File::parse(&image).ok()?;
        let (frame_pointer, return_address) = match object.architecture() {
            Architecture::X86_64 => (6, 16),
            Architecture::Aarch64 => (29, 30),
            _ => return None,
        };
        let index = Section::named(&object, ".eh_frame_hdr")?;
        let frames = Section::named(&object, ".eh_frame")?;
        for section in [&index, &frames] {
            section.read(&image)?;
        }
        image.close();
        Some(Self {
            bases: BaseAddresses::default()
                .set_eh_frame_hdr(index.start)
                .set_eh_frame(frames.start),
            index,
            frames,
            registers: Registers {
                frame_pointer: Register(frame_pointer),
                return_address: Register(return_address),
            },
            image,
        })
    }

    /// Whether the frame pointer can be followed while the code at this address runs.
    pub(crate) fn can_follow(&self, address: Svma) -> bool {
        self.any_row(address, |row| row.contains(address.0))
            .unwrap_or(false)
    }

    /// Whether the frame pointer can be followed anywhere in the function with this address. `None` if the
    /// table has no such function, or cannot be read.
    pub(crate) fn can_follow_somewhere(&self, address: Svma) -> Option<bool> {
        self.any_row(address, |_| true)
    }

    /// Whether the frame pointer can be followed in any of the function's rows that `is_meant` accepts. `None` if the
    /// table has no such function, or cannot be read.
    fn any_row(
        &self,
        address: Svma,
        is_meant: impl Fn(&UnwindTableRow<usize>) -> bool,
    ) -> Option<bool> {
        let frames = EhFrame::new(self.frames.read(&self.image)?, LittleEndian);
        let function = self.function(&frames, address)?;
        let mut context = UnwindContext::new();
        let mut rows = function.rows(&frames, &self.bases, &mut context).ok()?;
        while let Some(row) = rows.next_row().ok()? {
            if is_meant(row) && self.registers.are_kept(row) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn function<'i>(
        &'i self,
        frames: &EhFrame<Reader<'i>>,
        address: Svma,
    ) -> Option<FrameDescriptionEntry<Reader<'i>>> {
        let index = EhFrameHdr::new(self.index.read(&self.image)?, LittleEndian);
        let index = index.parse(&self.bases, 8).ok()?;
        let found = index.table()?.fde_for_address(
            frames,
            &self.bases,
            address.0,
            EhFrame::cie_from_offset,
        );
        found
            .ok()
            .filter(|function| !function.is_signal_trampoline())
    }
}

impl Section {
    fn named<'i>(object: &object::File<'i, &'i Image>, name: &str) -> Option<Self> {
        let section = object.section_by_name(name)?;
        let (offset, bytes) = section.file_range()?;
        Some(Self {
            start: section.address(),
            offset,
            bytes,
        })
    }

    /// Reads from the file the first time, and from memory later.
    fn read<'i>(&self, image: &'i Image) -> Option<&'i [u8]> {
        image.read_bytes_at(self.offset, self.bytes).ok()
    }
}

impl Registers {
    /// Whether the frame pointer and the return address are where the ABI has them.
    fn are_kept(self, row: &UnwindTableRow<usize>) -> bool {
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
            return false;
        };
        let [frame_pointer, return_address] = [self.frame_pointer, self.return_address]
            .map(|saved| offset.checked_add(offset_of(row, saved)?));
        register == self.frame_pointer
            && frame_pointer == Some(0)
            && return_address == Some(WORD_BYTES)
    }
}

/// The distance in bytes from the call frame address to the saved value of a register.
fn offset_of(row: &UnwindTableRow<usize>, register: Register) -> Option<i64> {
    match row.register(register) {
        Some(RegisterRule::Offset(bytes)) => Some(bytes),
        _ => None,
    }
}

//! Finds where several addresses of functions in a row end in the data of a module. Vtables contain such rows.

use crate::modules::Module;
use crate::scan::Scan;
use crate::target::Target;

/// Calls `found` for each word that follows at least `functions` addresses of functions: with the address of the first
/// of these last `functions` addresses, and with the word.
pub fn each_end(
    target: &dyn Target,
    scan: &mut Scan,
    module: &Module,
    functions: usize,
    mut found: impl FnMut(u64, u64),
) {
    for range in &module.data {
        let (mut next, mut length) = (range.start, 0);
        scan.each_piece(target, std::slice::from_ref(range), |piece| {
            if piece.address != next {
                (next, length) = (piece.address, 0);
            }
            for word in piece.words {
                let word = u64::from_le_bytes(*word);
                if module.is_text(word) {
                    length += 1;
                } else if functions <= std::mem::take(&mut length) {
                    found(next - 8 * functions as u64, word);
                }
                next += 8;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::Modules;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::parse;

    #[test]
    fn only_long_runs_count() {
        let mut image = MemoryImage::default();
        for mapping in parse(b"1000-2000 r-xp 0 8:1 7 /app\n2000-3000 r--p 1000 8:1 7 /app\n") {
            image.add(mapping, vec![0; 0x1000]);
        }
        let words = [0, 0x1100, 0x1110, 5, 0x1100, 6, 0x1100, 0x1110, 0x1120, 7];
        for (index, word) in words.into_iter().enumerate() {
            image.set_word(0x2000 + 8 * index as u64, word);
        }
        let modules = Modules::of(image.mappings());
        let module = modules.iter().next().expect("the module");
        let mut ends = Vec::new();
        each_end(&image, &mut Scan::default(), module, 2, |start, word| {
            ends.push((start, word));
        });
        assert_eq!(ends, [(0x2008, 5), (0x2038, 7)]);
    }
}

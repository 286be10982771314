//! The families of the coroutines that did something at a site. Only the first few are distinguished.

use super::families::FamilyId;

/// Some families, without duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FewFamilies {
    known: [FamilyId; Self::MAX_KNOWN],
    len: u8,
    /// Whether there are other families, or coroutines of which the family is not known.
    has_more: bool,
}

impl FewFamilies {
    /// Maximum number of families that are distinguished.
    const MAX_KNOWN: usize = 4;

    /// Takes the family of a coroutine; the default stands for an unknown family.
    #[inline]
    pub(super) fn add(&mut self, family: FamilyId) {
        if self.known().contains(&family) {
            return;
        }
        let free = self.known.get_mut(usize::from(self.len));
        match free.filter(|_| family != FamilyId::default()) {
            Some(free) => {
                *free = family;
                self.len += 1;
            }
            None => self.has_more = true,
        }
    }

    /// The families, if all of them are known.
    pub(super) fn all(&self) -> Option<&[FamilyId]> {
        (!self.has_more).then(|| self.known())
    }

    /// The families that are distinguished.
    pub(super) fn known(&self) -> &[FamilyId] {
        &self.known[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_families_may_include_any() {
        let mut families = FewFamilies::default();
        for id in [3, 4, 3, 5, 6] {
            families.add(FamilyId(id));
        }
        let known: Vec<FamilyId> = [3, 4, 5, 6].map(FamilyId).into();
        assert_eq!(families.all(), Some(&known[..]));
        families.add(FamilyId(7));
        assert_eq!(families.all(), None);
        assert_eq!(families.known(), known);
    }

    #[test]
    fn an_unknown_family_may_be_any() {
        let mut families = FewFamilies::default();
        assert_eq!(families.all(), Some(&[][..]));
        families.add(FamilyId::default());
        assert_eq!(families.all(), None);
    }
}

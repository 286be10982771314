//! The variables of a function on a stack.

use std::ops::Range;

use gimli::{AttributeValue, EntriesTreeNode, UnitOffset};
use symbolize::DebugReader;

use super::Entry;
use super::function::code_contains;
use super::module::{Die, Module, Target, Unit};
use super::variable_place::{Expression, Frame, VariablePlace};
use crate::stacks::Registers;

type Node<'a, 't, 'u> = EntriesTreeNode<'a, 't, DebugReader<'u>>;

/// The maximum number of variables of a function that are examined.
const MAX_VARIABLES: usize = 8192;
/// The maximum depth of nested scopes in a function.
const MAX_DEPTH: u32 = 128;

/// A scope of a function.
#[derive(Clone, Copy)]
struct Scope<'s, 'u> {
    /// What places on the stack are relative to.
    base: Option<&'s Expression<'u>>,
    /// The scope contains the present address.
    is_present: bool,
    depth: u32,
}

/// A variable of a function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameVariable<T> {
    /// The type.
    pub(crate) of: T,
    pub(crate) place: VariablePlace,
    /// The variable exists at the present address of the function. Otherwise it may have ended, or not begun, and
    /// its memory may be used for something else.
    pub(crate) is_in_scope: bool,
}

impl Module {
    /// The variables of a function on a stack whose places are known, those of inlined functions included.
    /// First those that exist now, the innermost first; then the others, the outermost first.
    pub(super) fn variables_of(&self, frame: &Frame<'_>) -> Vec<FrameVariable<Entry>> {
        let variables = self.function_at(frame.address).and_then(|function| {
            self.with_unit(function.unit, |_, unit| {
                let number = function.unit;
                let search = Search {
                    module: self,
                    number,
                    unit,
                    frame,
                };
                search.run(function.offset).unwrap_or_default()
            })
        });
        let (mut present, others): (Vec<_>, Vec<_>) = variables
            .unwrap_or_default()
            .into_iter()
            .partition(|variable| variable.is_in_scope);
        present.reverse();
        present.extend(others);
        present
    }
}

/// The search for the variables of a frame in a unit.
struct Search<'s, 'u> {
    module: &'s Module,
    number: usize,
    unit: Unit<'u>,
    frame: &'s Frame<'s>,
}

impl<'u> Search<'_, 'u> {
    /// The variables of the function with the entry at this offset.
    fn run(&self, function: usize) -> gimli::Result<Vec<FrameVariable<Entry>>> {
        let mut found = Vec::new();
        let mut tree = self.unit.entries_tree(Some(UnitOffset(function)))?;
        let function = tree.root()?;
        let base = expression_of(function.entry(), gimli::DW_AT_frame_base);
        let scope = Scope {
            base: base.as_ref(),
            is_present: true,
            depth: 0,
        };
        self.add_scope(function, scope, &mut found)?;
        Ok(found)
    }

    /// Adds the variables of a scope and of the scopes in it.
    fn add_scope(
        &self,
        node: Node<'_, '_, 'u>,
        scope: Scope<'_, 'u>,
        found: &mut Vec<FrameVariable<Entry>>,
    ) -> gimli::Result<()> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match child.entry().tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter
                    if found.len() < MAX_VARIABLES =>
                {
                    found.extend(self.variable(child.entry(), scope));
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if scope.depth < MAX_DEPTH =>
                {
                    let inner = Scope {
                        is_present: scope.is_present
                            && code_contains(self.unit, child.entry(), self.frame.address)?,
                        depth: scope.depth + 1,
                        ..scope
                    };
                    self.add_scope(child, inner, found)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a variable. If the variable does not exist now, only a place on the stack is returned, because registers
    /// have other contents.
    fn variable(&self, entry: &Die<'u>, scope: Scope<'_, 'u>) -> Option<FrameVariable<Entry>> {
        let present = self.frame.registers;
        let only_stack = Registers::new(present.processor, present.pc, present.sp);
        let location = self.present_location(entry).filter(|_| scope.is_present);
        let (location, registers, is_in_scope) = match location {
            Some(location) => (location, present, true),
            None => (self.any_location(entry)?, &only_stack, false),
        };
        let place = self
            .frame
            .evaluate(self.unit, &location, scope.base, registers)?;
        let of = self.type_of(entry)?;
        Some(FrameVariable {
            of,
            place,
            is_in_scope,
        })
    }

    /// The expression that says where a variable is while its function is at the address.
    fn present_location(&self, entry: &Die<'u>) -> Option<Expression<'u>> {
        let address = self.frame.address;
        let fixed = expression_of(entry, gimli::DW_AT_location);
        fixed.or_else(|| self.listed_location(entry, |range| range.contains(&address)))
    }

    /// An expression that says where a variable is at some address.
    fn any_location(&self, entry: &Die<'u>) -> Option<Expression<'u>> {
        let fixed = expression_of(entry, gimli::DW_AT_location);
        fixed.or_else(|| self.listed_location(entry, |_| true))
    }

    fn listed_location(
        &self,
        entry: &Die<'u>,
        is_wanted: impl Fn(Range<u64>) -> bool,
    ) -> Option<Expression<'u>> {
        let value = entry.attr_value(gimli::DW_AT_location)?;
        let mut list = self.unit.attr_locations(value).ok()??;
        while let Some(part) = list.next().ok()? {
            if is_wanted(part.range.begin..part.range.end) {
                return Some(part.data);
            }
        }
        None
    }

    /// The type of a variable, or of the variable of which this is a copy in an inlined function.
    fn type_of(&self, entry: &Die<'u>) -> Option<Entry> {
        let from = Entry {
            unit: self.number,
            offset: entry.offset().0,
        };
        if let Some(of) = entry.attr_value(gimli::DW_AT_type) {
            return self.module.resolve(from, Target::of(&of)?);
        }
        let origin = Target::of(&entry.attr_value(gimli::DW_AT_abstract_origin)?)?;
        let origin = self.module.resolve(from, origin)?;
        let of = self.module.with_entry(origin, |_, _, entry| {
            Target::of(&entry.attr_value(gimli::DW_AT_type)?)
        });
        self.module.resolve(origin, of??)
    }
}

/// An attribute whose value is an expression.
fn expression_of<'u>(entry: &Die<'u>, attribute: gimli::DwAt) -> Option<Expression<'u>> {
    match entry.attr_value(attribute)? {
        AttributeValue::Exprloc(expression) => Some(expression),
        _ => None,
    }
}

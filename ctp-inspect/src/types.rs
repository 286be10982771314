//! [`Types`]: the types of a program, from the debug info of its modules.
//!
//! A first pass over the debug info of a module notes where functions, vtables and namespaces are. Layouts are
//! read when they are first needed, and each once.

pub mod layout;

pub(crate) mod frame_variable;
mod function;
mod index;
mod module;
mod name;
mod read;
mod scan;
mod statics;
mod variable;
pub(crate) mod variable_place;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use foldhash::HashMap;
use symbolize::{Avma, SearchPaths};

use crate::stacks::StackFrame;
use crate::target::Target;
use crate::target::mapping::Mapping;
use frame_variable::FrameVariable;
use layout::Type;
use module::Module;
pub(crate) use read::{file as declaration_file, line as declaration_line};
pub use statics::StaticVariable;
use variable_place::Frame;

/// Where a type is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeRef {
    module: usize,
    entry: Entry,
}

/// A place in the debug info of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry {
    unit: usize,
    offset: usize,
}

/// The types of a process. Modules are opened when an address in them is first looked up.
pub struct Types {
    search_paths: SearchPaths,
    modules: RefCell<Modules>,
    layouts: RefCell<HashMap<TypeRef, Option<Rc<Type>>>>,
    awaited_places: RefCell<HashMap<(TypeRef, TypeRef), Option<AwaitedPlace>>>,
    /// The types of the tasks that each function polls, by the address of the function.
    tasks: RefCell<HashMap<u64, Rc<[TypeRef]>>>,
    /// The type that each vtable is for, by the address of the vtable.
    vtables: RefCell<HashMap<u64, Option<TypeRef>>>,
    gaps: RefCell<BTreeSet<String>>,
    layouts_left: Cell<usize>,
}

/// File and line of an `.await`.
pub type AwaitedPlace = (String, u32);

#[derive(Default)]
struct Modules {
    opened: Vec<Rc<Module>>,
    by_path: HashMap<Vec<u8>, Option<usize>>,
}

/// The maximum number of layouts that are read. A large program has fewer futures.
const MAX_LAYOUTS: usize = 400_000;

impl Types {
    /// Reads debug info from files in `search_paths`. Opens none yet.
    pub fn new(search_paths: SearchPaths) -> Self {
        Self {
            search_paths,
            modules: RefCell::default(),
            layouts: RefCell::default(),
            awaited_places: RefCell::default(),
            tasks: RefCell::default(),
            vtables: RefCell::default(),
            gaps: RefCell::default(),
            layouts_left: Cell::new(MAX_LAYOUTS),
        }
    }

    /// Forgets what is at which address. The program may have loaded and unloaded libraries.
    pub fn forget_addresses(&self) {
        self.tasks.take();
        self.vtables.take();
    }

    /// The types of the tasks that the function at this address polls: tokio's `Cell`, which contains the future, or
    /// `RawTask` of async-task, of which the future is the first generic parameter. Empty if unknown. Several if the
    /// linker merged equal functions.
    pub fn task_types(&self, target: &dyn Target, poll: u64) -> Rc<[TypeRef]> {
        if let Some(known) = self.tasks.borrow().get(&poll) {
            return Rc::clone(known);
        }
        let types: Rc<[TypeRef]> = self.new_task_types(target, poll).into();
        self.tasks.borrow_mut().insert(poll, Rc::clone(&types));
        types
    }

    fn new_task_types(&self, target: &dyn Target, poll: u64) -> Vec<TypeRef> {
        let Some((number, module, address)) = self.stated(target, poll) else {
            return Vec::new();
        };
        if !module.has_task_types() {
            let path = String::from_utf8_lossy(module.path());
            let gap = format!(
                "{path} has no types of futures: build with debug = 2 to see where each task waits"
            );
            self.gaps.borrow_mut().insert(gap);
        }
        let types = module.task_types(address).into_iter();
        types.map(|entry| TypeRef::new(number, entry)).collect()
    }

    /// The type with the vtable at this address; `None` if unknown or ambiguous.
    pub fn of_vtable(&self, target: &dyn Target, vtable: u64) -> Option<TypeRef> {
        if let Some(known) = self.vtables.borrow().get(&vtable) {
            return *known;
        }
        let of = self.new_of_vtable(target, vtable);
        self.vtables.borrow_mut().insert(vtable, of);
        of
    }

    fn new_of_vtable(&self, target: &dyn Target, vtable: u64) -> Option<TypeRef> {
        let (number, module, address) = self.stated(target, vtable)?;
        let entry = module.type_of_vtable(address)?;
        Some(TypeRef::new(number, entry))
    }

    /// The variables of a function on a stack whose places are known, those of inlined functions included.
    /// First those that exist now, the innermost first; then the others, the outermost first.
    pub(crate) fn variables_of(
        &self,
        target: &dyn Target,
        frame: &StackFrame,
    ) -> Vec<FrameVariable<TypeRef>> {
        let Some((number, module, address)) = self.stated(target, frame.looked_up()) else {
            return Vec::new();
        };
        let frame = Frame::of(target, frame, address);
        let variables = frame.map(|frame| module.variables_of(&frame));
        let variables = variables.into_iter().flatten();
        let variables = variables.map(|variable| FrameVariable {
            of: TypeRef::new(number, variable.of),
            place: variable.place,
            is_in_scope: variable.is_in_scope,
        });
        variables.collect()
    }

    /// The layout of a type; `None` if it cannot be read.
    pub fn layout(&self, of: TypeRef) -> Option<Rc<Type>> {
        if let Some(known) = self.layouts.borrow().get(&of) {
            return known.clone();
        }
        self.layouts_left
            .set(self.layouts_left.get().checked_sub(1)?);
        let module = self.module(of.module);
        let layout = module.layout(of).map(Rc::new);
        self.layouts.borrow_mut().insert(of, layout.clone());
        layout
    }

    /// Whether a type with this path (without generic parameters) implements `Future`.
    pub fn is_future(&self, of: TypeRef, path: &str) -> bool {
        self.module(of.module).is_future(path)
    }

    /// The line that declares a variable of the body of an async function or block; 0 if unknown, or if
    /// several variables have the name.
    pub fn variable_line(&self, body: TypeRef, variable: &str) -> u32 {
        let path = self.layout(body).map(|of| of.path.clone());
        let module = self.module(body.module);
        path.map_or(0, |path| module.variable_line(&path, variable))
    }

    /// File and line at which the body of an async function or block awaits a future of this type. In the
    /// expansion of a macro, that is where the macro is called. `None` if unknown or ambiguous.
    pub fn awaited_place(&self, body: TypeRef, awaited: TypeRef) -> Option<AwaitedPlace> {
        if let Some(known) = self.awaited_places.borrow().get(&(body, awaited)) {
            return known.clone();
        }
        let place = self.new_awaited_place(body, awaited);
        let mut places = self.awaited_places.borrow_mut();
        places.insert((body, awaited), place.clone());
        place
    }

    fn new_awaited_place(&self, body: TypeRef, awaited: TypeRef) -> Option<AwaitedPlace> {
        let path = self.layout(body)?.path.clone();
        let is_same_module = body.module == awaited.module;
        let module = is_same_module.then(|| self.module(body.module))?;
        module.awaited_place(&path, awaited)
    }

    /// Whether a panic unwinds in the program of this type; `None` if unknown.
    pub fn does_unwind(&self, of: TypeRef) -> Option<bool> {
        self.module(of.module).does_unwind()
    }

    /// Sentences about why types are missing.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps: Vec<_> = self.gaps.borrow().iter().cloned().collect();
        if self.layouts_left.get() == 0 {
            gaps.push("the program has too many types of futures".to_owned());
        }
        gaps
    }

    fn module(&self, number: usize) -> Rc<Module> {
        Rc::clone(&self.modules.borrow().opened[number])
    }

    /// The module with an address, its number, and the address in the file's own tables.
    fn stated(&self, target: &dyn Target, address: u64) -> Option<(usize, Rc<Module>, u64)> {
        let mapping = target.mapping_at(address)?;
        let number = self.open(target, mapping)?;
        let module = self.module(number);
        let address = module.stated(Avma(address), &in_symbolize(target, mapping))?;
        Some((number, module, address))
    }

    fn open(&self, target: &dyn Target, mapping: &Mapping) -> Option<usize> {
        if let Some(number) = self.modules.borrow().by_path.get(&mapping.path) {
            return *number;
        }
        let opened = Module::open(
            &in_symbolize(target, mapping),
            &mapping.path,
            &self.search_paths,
        );
        let modules = &mut *self.modules.borrow_mut();
        let number = match opened {
            Ok(module) => {
                modules.opened.push(Rc::new(module));
                Some(modules.opened.len() - 1)
            }
            Err(gap) => {
                self.gaps.borrow_mut().insert(gap);
                None
            }
        };
        modules.by_path.insert(mapping.path.clone(), number);
        number
    }
}

impl TypeRef {
    fn new(module: usize, entry: Entry) -> Self {
        Self { module, entry }
    }
}

/// The path at which the file of a mapping is read: usually its own path, because separate files with debug info lie
/// beside that path. If another file is there, the target's path.
fn path_from_here(target: &dyn Target, mapping: &Mapping) -> Vec<u8> {
    let metadata = std::fs::metadata(OsStr::from_bytes(&mapping.path));
    if metadata.is_ok_and(|metadata| metadata.ino() == mapping.file.1) {
        mapping.path.clone()
    } else {
        target.readable_path(mapping)
    }
}

pub(crate) fn in_symbolize(target: &dyn Target, mapping: &Mapping) -> symbolize::Mapping {
    mapping.in_symbolize(path_from_here(target, mapping))
}

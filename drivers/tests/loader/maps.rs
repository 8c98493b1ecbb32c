//! The file that an address was mapped from.

use rocload::loader::{discover_binary_path, find_mapping};

const MAPS: &[u8] = b"\
5500-5600 r--p 00000000 08:02 11                         /usr/bin/tool\n\
5600-5700 r-xp 00002000 08:02 11                         /usr/bin/tool\n\
6000-7000 rw-p 00000000 00:00 0                          [heap]\n\
7000-8000 rw-p 00000000 00:00 0 \n\
8000-9000 r-xp 00000000 fe:0a 12                         /opt/with space/lib\\012x.so (deleted)\n\
9000-a000 r-xp 00000000 00:01 13                         /memfd:code (deleted)\n\
not a line\n\
b000-c000\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n";

#[test]
fn an_address_is_on_the_line_whose_range_holds_it() {
    let at = |address| find_mapping(MAPS, address);
    let line = at(0x5600).unwrap();
    assert_eq!((line.offset, line.device, line.inode), (0x2000, (8, 2), 11));
    assert_eq!(line.name, b"/usr/bin/tool");
    assert_eq!(at(0x56ff).unwrap().offset, 0x20ff);
    assert_eq!(at(0x55ff).unwrap().offset, 0xff);
    // Between two, the heap, what is anonymous, what is no line, what the kernel shows.
    for address in [0, 0x54ff, 0x5700, 0x6500, 0x7500, 0xb500, 0xffff_ffff_ff60_0000] {
        assert_eq!(at(address), None, "{address:#x}");
    }
}

#[test]
fn a_name_is_taken_for_what_the_kernel_wrote() {
    let names = |address| find_mapping(MAPS, address).unwrap().names().collect::<Vec<_>>();
    assert_eq!(names(0x8001).last().unwrap(), b"/opt/with space/lib\nx.so");
    assert_eq!(names(0x8001)[0], b"/opt/with space/lib\\012x.so (deleted)");
    assert_eq!(names(0x9001).last().unwrap(), b"/memfd:code");
}

#[test]
fn this_very_code_is_in_this_very_program() {
    let mine = this_very_code_is_in_this_very_program as *const () as usize;
    let mapping = discover_binary_path(mine).unwrap().expect("code is mapped from a file");
    assert_eq!(mapping.path, std::env::current_exe().unwrap());
    let on_the_heap = Box::new(7);
    assert_eq!(discover_binary_path(&raw const *on_the_heap as usize).unwrap(), None);
    assert_eq!(discover_binary_path(0).unwrap(), None);
}

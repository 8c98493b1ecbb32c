//! From where a PVH loader leaves off to Rust: 32-bit protected mode without paging is turned into
//! 64-bit mode with the first GiB mapped to itself.
//!
//! The note tells the loader (`qemu-system-x86_64 -kernel`) the 32-bit entry. Exceptions are not
//! handled: one resets the machine, and a run that ends so has not passed.
//!
//! Source: Xen's "x86/HVM direct boot ABI"; Intel's manual, volume 3A, 10.8.5.

use core::arch::global_asm;

/// Bytes of the stack: a multiple of 8.
const STACK: usize = 128 << 10;
const PAINT: u64 = 0xcccc_cccc_cccc_cccc;

global_asm!(
    // The note: XEN_ELFNOTE_PHYS32_ENTRY of "Xen".
    ".section .note.pvh, \"a\", @note",
    ".balign 4",
    ".long 4, 8, 18",
    ".asciz \"Xen\"",
    ".quad start",
    ".section .bss.tables, \"aw\", @nobits",
    ".balign 4096",
    "level4: .skip 4096",
    "level3: .skip 4096",
    "level2: .skip 4096",
    ".section .stack, \"aw\", @nobits",
    ".balign 16",
    ".global stack_bottom, stack_top",
    "stack_bottom: .skip {stack}",
    "stack_top:",
    ".section .rodata.gdt, \"a\"",
    ".balign 8",
    // Nothing, 64-bit code, data.
    "gdt: .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff",
    "gdtr: .word 23",
    ".quad gdt",
    ".section .text.start, \"ax\"",
    ".code32",
    ".global start",
    "start:",
    "cli",
    "cld",
    "movl $stack_bottom, %edi",
    "movl ${stack} / 4, %ecx",
    "movl $0xcccccccc, %eax",
    "rep stosl",
    "movl $stack_top, %esp",
    // 512 pages of 2 MiB: present, writable, large.
    "xorl %ecx, %ecx",
    "2:",
    "movl %ecx, %eax",
    "shll $21, %eax",
    "orl $0x83, %eax",
    "movl %eax, level2(, %ecx, 8)",
    "incl %ecx",
    "cmpl $512, %ecx",
    "jne 2b",
    "movl $level2 + 3, %eax",
    "movl %eax, level3",
    "movl $level3 + 3, %eax",
    "movl %eax, level4",
    "movl $level4, %eax",
    "movl %eax, %cr3",
    // Physical address extension, long mode, paging.
    "movl %cr4, %eax",
    "orl $0x20, %eax",
    "movl %eax, %cr4",
    "movl $0xc0000080, %ecx",
    "rdmsr",
    "orl $0x100, %eax",
    "wrmsr",
    "movl %cr0, %eax",
    "orl $0x80000000, %eax",
    "movl %eax, %cr0",
    "lgdt gdtr",
    "ljmp $8, $3f",
    ".code64",
    "3:",
    "movl $16, %eax",
    "movl %eax, %ds",
    "movl %eax, %es",
    "movl %eax, %ss",
    "xorl %ebp, %ebp",
    "call {main}",
    "ud2",
    stack = const STACK,
    main = sym enter,
    options(att_syntax),
);

extern "C" fn enter() -> ! {
    crate::main()
}

unsafe extern "C" {
    static stack_bottom: u64;
    static stack_top: u64;
}

/// Bytes of the stack that were used, at most, since the start; and all there are.
pub(crate) fn stack() -> (usize, usize) {
    let (bottom, room) = (&raw const stack_bottom, &raw const stack_top as usize);
    let room = room - bottom as usize;
    let mut free = 0;
    while free < room {
        // SAFETY: from `bottom` on, `room` bytes are the stack's, and both are multiples of 8; a
        // word there can be read whatever it holds.
        let word = unsafe { bottom.byte_add(free).read_volatile() };
        if word != PAINT {
            break;
        }
        free += 8;
    }
    (room - free, room)
}

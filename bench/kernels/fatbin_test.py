import struct
import tempfile
import unittest

from fatbin import ENTRY_HEADER, FAT_HEADER, MAGIC, FatBinary, Malformed, fat_binaries, found_in, usable
from kernels import ptx_words
from library import files_of, prefixes_of

PTX, CUBIN = 1, 2


def fat(*entries, header=64):
    """A fat binary with entries of (kind, architecture, payload length)."""
    body = b""
    for kind, arch, length in entries:
        head = ENTRY_HEADER.pack(kind, 0x101, header, length, arch)
        body += head.ljust(header, b"\xee") + b"\x50" * length
    return FAT_HEADER.pack(MAGIC, 1, FAT_HEADER.size, len(body)) + body


def elf(sections):
    """A 64-bit ELF file with these sections (and .shstrtab, last), their headers at the end."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    data, headers = b"\0" * 64, [struct.pack("<64x")]
    for name, content in {**sections, ".shstrtab": names}.items():
        at = names.index(name.encode() + b"\0")
        headers.append(struct.pack("<II8x8xQQ24x", at, 1, len(data), len(content)))
        data += content
    head = b"\x7fELF\x02\x01\x01".ljust(40, b"\0") + struct.pack("<Q", len(data))
    head += b"\0" * 10 + struct.pack("<HHH", 64, len(headers), len(headers) - 1)
    return head + data[64:] + b"".join(headers)


def found(content):
    return found_in(elf({".text": b"\x90" * 9, ".nv_fatbin": content}))


class FatbinTest(unittest.TestCase):
    def test_headers_are_as_long_as_they_are(self):
        self.assertEqual((FAT_HEADER.size, ENTRY_HEADER.size), (16, 32))

    def test_ptx_and_machine_code_of_every_fat_binary_are_found(self):
        one = fat((CUBIN, 80, 24), (CUBIN, 90, 40), (PTX, 90, 16))
        two = fat((CUBIN, 100, 8), (PTX, 120, 8), header=72)
        self.assertEqual(found(one + two), [FatBinary({90}, {80, 90}), FatBinary({120}, {100})])

    def test_padding_between_them_is_passed_over(self):
        self.assertEqual(
            found(fat((PTX, 75, 8)) + b"\0" * 24 + fat((CUBIN, 90, 8)) + b"\0" * 8),
            [FatBinary({75}, set()), FatBinary(set(), {90})],
        )

    def test_machine_code_that_looks_like_a_header_counts_for_nothing(self):
        fake = fat((PTX, 50, 0))
        payload = fat((CUBIN, 90, len(fake)))[: -len(fake)] + fake
        self.assertEqual(found(payload), [FatBinary(set(), {90})])

    def test_damage_ends_the_search_and_is_no_fault(self):
        whole = fat((CUBIN, 90, 8))
        for damaged in (b"", whole[:20], whole + b"\x01" * 100, struct.pack("<IHHQ", MAGIC, 1, 16, 2**60)):
            found(damaged)
        endless = FAT_HEADER.pack(MAGIC, 1, 16, 64) + ENTRY_HEADER.pack(PTX, 0, 0, 0, 90) + b"\0" * 32
        self.assertEqual(found(endless), [FatBinary(set(), set())])

    def test_a_library_without_kernels_has_none(self):
        self.assertEqual(found_in(elf({".text": b"\x90"})), [])

    def test_a_file_is_mapped_and_what_is_no_library_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(elf({".nv_fatbin": fat((PTX, 90, 8))}))
            file.flush()
            self.assertEqual(fat_binaries(file.name), [FatBinary({90}, set())])
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"GROUP ( libc.so.6 )\n")
            file.flush()
            with self.assertRaises(Malformed):
                fat_binaries(file.name)

    def test_ptx_serves_a_gpu_of_its_kind_or_a_later_one(self):
        fats = [
            FatBinary({75}, set()),
            FatBinary({120}, {90}),
            FatBinary({90}, {90}),
            # For other GPUs only.
            FatBinary({120}, {80, 100}),
        ]
        self.assertEqual(usable(fats, 90), (2, 3))
        self.assertEqual(usable([], 90), (0, 0))


class LibraryTest(unittest.TestCase):
    def test_names_of_kernels_say_where_they_are_from(self):
        for kernel, prefix in (
            ("triton_poi_fused_add_0", "triton"),
            ("nvjet_tst_128x256_64x4_1x2_h_bz_TNT", "libcublas"),
            ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16", "libcublas"),
            ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", "libcublas"),
            ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32", "libcudnn"),
            ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", "libcudnn"),
            ("void at::native::vectorized_elementwise_kernel<4, ...>", "libtorch_cuda"),
            ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_kernel<...>", "libtorch_cuda"),
            ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(...)", "libtorch_cuda"),
        ):
            self.assertEqual(prefixes_of(kernel), (prefix,), kernel)
        self.assertEqual(prefixes_of("my_kernel"), ())

    def test_files_are_chosen_by_how_they_begin(self):
        paths = ["/a/libcublas.so.13", "/a/libcublasLt.so.13", "/a/libcudnn_ops.so.9"]
        self.assertEqual(files_of(("libcublas",), paths), paths[:2])

    def test_a_table_says_how_much_of_the_library_has_ptx(self):
        for counts, words in (((0, 5), "no"), ((5, 5), "yes"), ((1, 5), "1 of 5"), ((None, None), "unknown")):
            self.assertEqual(ptx_words(*counts), words)


if __name__ == "__main__":
    unittest.main()

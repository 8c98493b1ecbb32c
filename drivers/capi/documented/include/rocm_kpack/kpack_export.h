/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef ROCM_KPACK_EXPORT_H
#define ROCM_KPACK_EXPORT_H

/*
 * KPACK_API stands before each function. Define ROCM_KPACK_STATIC where librocm_kpack.a is linked;
 * pkg-config --static and CMake's static target do.
 */
#if !defined(KPACK_API)
#if defined(ROCM_KPACK_STATIC)
#define KPACK_API
#elif defined(_WIN32)
#define KPACK_API __declspec(dllimport)
#elif defined(__GNUC__)
#define KPACK_API __attribute__((visibility("default")))
#else
#define KPACK_API
#endif
#endif

#endif /* ROCM_KPACK_EXPORT_H */

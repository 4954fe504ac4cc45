// The summation rule: one order of additions for every instruction set.
//
// A row is read as blocks of 64 bytes, 16 virtual float or 8 virtual double lanes. Value j belongs to
// lane j mod 16 (8); each lane adds its products in the order of j, starting from zero; the lanes are
// then folded in halves: lane i and lane i + 8, then i + 4, i + 2, i + 1. How many native registers a
// block takes (TREECV_REGISTER_BYTES) changes the speed and never a bit; contraction to fused
// multiply-add would, and is switched off by the build.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#ifndef TREECV_REGISTER_BYTES
#define TREECV_REGISTER_BYTES 16
#endif

namespace treecv {

inline constexpr std::size_t block_bytes = 64;

// The numbers of type T in one block.
template <class T>
inline constexpr std::ptrdiff_t lanes = block_bytes / sizeof(T);

// Calls f with the constants 0 .. n - 1: an unrolled loop whose array indices stay in registers.
template <int n, class F>
[[gnu::always_inline]] inline void unrolled(F f) {
    [&]<int... i>(std::integer_sequence<int, i...>) {
        (f(std::integral_constant<int, i>{}), ...);
    }(std::make_integer_sequence<int, n>{});
}

// One block in native registers.
template <class T>
struct Block {
    using Register __attribute__((vector_size(TREECV_REGISTER_BYTES))) = T;
    static constexpr int registers = block_bytes / TREECV_REGISTER_BYTES;
    static constexpr int per_register = TREECV_REGISTER_BYTES / sizeof(T);

    Register part[registers];

    // From and to memory of any alignment.
    static Block load(const T* from) {
        Block block;
        unrolled<registers>(
            [&](auto i) { std::memcpy(&block.part[i], from + i * per_register, TREECV_REGISTER_BYTES); });
        return block;
    }

    void store(T* to) const {
        unrolled<registers>(
            [&](auto i) { std::memcpy(to + i * per_register, &part[i], TREECV_REGISTER_BYTES); });
    }

    static Block all(T value) {
        Block block;
        unrolled<registers>([&](auto i) { block.part[i] = value - Register{}; });
        return block;
    }

    Block& operator+=(const Block& other) {
        unrolled<registers>([&](auto i) { part[i] += other.part[i]; });
        return *this;
    }

    friend Block operator*(Block a, const Block& b) {
        unrolled<registers>([&](auto i) { a.part[i] *= b.part[i]; });
        return a;
    }

    // The bits of both, whatever numbers they stand for.
    friend Block operator&(Block a, const Block& b) {
        using Bits __attribute__((vector_size(TREECV_REGISTER_BYTES))) = std::uint64_t;
        unrolled<registers>([&](auto i) {
            a.part[i] =
                std::bit_cast<Register>(std::bit_cast<Bits>(a.part[i]) & std::bit_cast<Bits>(b.part[i]));
        });
        return a;
    }
};

namespace detail {

// Lane i of the result is lane i + step of `vector` (cyclically).
template <std::size_t step, class Register, std::size_t... i>
Register rotated(Register vector, std::index_sequence<i...>) {
    return __builtin_shufflevector(vector, vector, ((i + step) % sizeof...(i))...);
}

template <std::size_t step, class T, class Register>
T fold(Register vector) {
    if constexpr (step == 0)
        return vector[0];
    else
        return fold<step / 2, T>(
            vector + rotated<step>(vector, std::make_index_sequence<sizeof(Register) / sizeof(T)>{}));
}

}  // namespace detail

// The fold in halves that ends the summation rule.
template <class T>
T sum(Block<T> block) {
    constexpr int n = Block<T>::registers;
    static_assert(n <= 4, "a register has 16 bytes or more");
    if constexpr (n > 2) unrolled<n / 4 * 2>([&](auto i) { block.part[i] += block.part[i + n / 2]; });
    if constexpr (n > 1) block.part[0] += block.part[1];
    return detail::fold<Block<T>::per_register / 2, T>(block.part[0]);
}

}  // namespace treecv

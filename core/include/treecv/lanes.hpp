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

#if defined(__AVX512F__) && TREECV_REGISTER_BYTES == 64
#include <immintrin.h>
#define TREECV_MASKED_LOADS 1
#else
#define TREECV_MASKED_LOADS 0
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
    using Memory __attribute__((vector_size(TREECV_REGISTER_BYTES), aligned(alignof(T)), may_alias)) = T;
    static constexpr int registers = block_bytes / TREECV_REGISTER_BYTES;
    static constexpr int per_register = TREECV_REGISTER_BYTES / sizeof(T);

    Register part[registers];

    // From and to memory of any alignment.
    [[gnu::always_inline]] static Block load(const T* from) {
        Block block;
        unrolled<registers>(
            [&](auto i) { block.part[i] = *reinterpret_cast<const Memory*>(from + i * per_register); });
        return block;
    }

#if TREECV_MASKED_LOADS
    // The values whose bits are set, and zeros; memory that is not asked for is not touched.
    [[gnu::always_inline]] static Block load(const T* from, std::uint32_t mask) {
        if constexpr (sizeof(T) == 4)
            return {{std::bit_cast<Register>(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from))}};
        else
            return {{std::bit_cast<Register>(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from))}};
    }
#endif

    [[gnu::always_inline]] void store(T* to) const {
        unrolled<registers>([&](auto i) { *reinterpret_cast<Memory*>(to + i * per_register) = part[i]; });
    }

    [[gnu::always_inline]] static Block all(T value) {
        Block block;
        unrolled<registers>([&](auto i) { block.part[i] = value - Register{}; });
        return block;
    }

    [[gnu::always_inline]] Block& operator+=(const Block& other) {
        unrolled<registers>([&](auto i) { part[i] += other.part[i]; });
        return *this;
    }

    [[gnu::always_inline]] Block& operator-=(const Block& other) {
        unrolled<registers>([&](auto i) { part[i] -= other.part[i]; });
        return *this;
    }

    [[gnu::always_inline]] friend Block operator+(Block a, const Block& b) { return a += b; }
    [[gnu::always_inline]] friend Block operator-(Block a, const Block& b) { return a -= b; }

    [[gnu::always_inline]] friend Block operator*(Block a, const Block& b) {
        unrolled<registers>([&](auto i) { a.part[i] *= b.part[i]; });
        return a;
    }

    [[gnu::always_inline]] friend Block operator/(Block a, const Block& b) {
        unrolled<registers>([&](auto i) { a.part[i] /= b.part[i]; });
        return a;
    }

    // Lane by lane: the larger, the smaller.
    friend Block max(Block a, const Block& b) {
        unrolled<registers>([&](auto i) { a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i]; });
        return a;
    }
    friend Block min(Block a, const Block& b) {
        unrolled<registers>([&](auto i) { a.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i]; });
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

// One number of each of n chains, side by side. Comparing two gives a `Choice` of all bits or none, so that
// what nobody can foresee is chosen without a branch.
template <class T, int n>
struct Side {
    static constexpr int places = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
    using Numbers __attribute__((vector_size(places * sizeof(T)))) = T;
    using Bits __attribute__((vector_size(places * sizeof(T)))) =
        std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

    static Numbers all(T value) { return value - Numbers{}; }
};

// This value in all places of such a vector.
template <class Numbers>
[[gnu::always_inline]] inline Numbers all_like(const Numbers&, double value) {
    return value - Numbers{};
}

// Whether all places are chosen.
template <class Choice>
[[gnu::always_inline]] inline bool all(Choice choice) {
    auto some = ~choice;
    bool none = true;
    for (std::size_t i = 0; i < sizeof(choice) / sizeof(choice[0]); ++i) none &= some[i] == 0;
    return none;
}

// `numbers` where chosen, else 0.
template <class Numbers, class Choice>
[[gnu::always_inline]] inline Numbers where(Choice choice, Numbers numbers) {
    return std::bit_cast<Numbers>(choice & std::bit_cast<Choice>(numbers));
}

// NaN where chosen, else `numbers`.
template <class Numbers, class Choice>
[[gnu::always_inline]] inline Numbers spoilt(Choice choice, Numbers numbers) {
    return std::bit_cast<Numbers>(choice | std::bit_cast<Choice>(numbers));
}

namespace detail {

template <class T, std::size_t bytes>
struct Narrow {
    using Register __attribute__((vector_size(bytes))) = T;
};

// The two halves of a vector, added.
template <class T, class Register>
[[gnu::always_inline]] inline auto halved(Register vector) {
    constexpr int half = sizeof(Register) / sizeof(T) / 2;
    return [&]<int... i>(std::integer_sequence<int, i...>) {
        return __builtin_shufflevector(vector, vector, i...) +
               __builtin_shufflevector(vector, vector, (i + half)...);
    }(std::make_integer_sequence<int, half>{});
}

template <class T>
using Last = typename Narrow<T, 16>::Register;

// Folds a block in halves down to 16 bytes, for any width of the registers.
template <class T, class Register>
[[gnu::always_inline]] inline Last<T> folded(Register vector) {
    if constexpr (sizeof(Register) == 16)
        return vector;
    else
        return folded<T>(halved<T>(vector));
}

template <class T>
[[gnu::always_inline]] inline Last<T> folded(Block<T> block) {
    constexpr int n = Block<T>::registers;
    static_assert(n <= 4, "a register has 16 bytes or more");
    if constexpr (n > 2) unrolled<n / 4 * 2>([&](auto i) { block.part[i] += block.part[i + n / 2]; });
    if constexpr (n > 1) block.part[0] += block.part[1];
    return folded<T>(block.part[0]);
}

// What is left of the fold, for two chains in one vector: lane i, then lane i + 1 of the second.
[[gnu::always_inline]] inline Last<double> paired(Last<double> a, Last<double> b) {
    return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
}
[[gnu::always_inline]] inline Last<float> paired(Last<float> a, Last<float> b) {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

}  // namespace detail

// The fold in halves that ends the summation rule.
template <class T>
[[gnu::always_inline]] inline T sum(const Block<T>& block) {
    const detail::Last<T> last = detail::folded(block);
    if constexpr (sizeof(T) == 8)
        return last[0] + last[1];
    else
        return (last[0] + last[2]) + (last[1] + last[3]);
}

// The same fold for several blocks side by side: fewer instructions, the same additions.
template <int n, class T>
[[gnu::always_inline]] inline void sums(const Block<T> (&blocks)[n], T (&out)[n]) {
    constexpr int together = sizeof(T) == 8 ? 2 : 4;
    unrolled<n / together>([&](auto group) {
        constexpr int at = group * together;
        detail::Last<T> total;
        const auto first = detail::paired(detail::folded(blocks[at]), detail::folded(blocks[at + 1]));
        if constexpr (sizeof(T) == 8) {
            total = first;
        } else {
            const auto second =
                detail::paired(detail::folded(blocks[at + 2]), detail::folded(blocks[at + 3]));
            total = __builtin_shufflevector(first, second, 0, 1, 4, 5) +
                    __builtin_shufflevector(first, second, 2, 3, 6, 7);
        }
        std::memcpy(out + at, &total, sizeof total);
    });
    unrolled<n % together>([&](auto i) { out[n - n % together + i] = sum(blocks[n - n % together + i]); });
}

}  // namespace treecv

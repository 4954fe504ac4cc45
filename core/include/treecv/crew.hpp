// Several threads over one tree, or over the folds of the standard method. What a node learns does not depend
// on who teaches it, so neither do the results.
//
// The threads live for one call. The calling thread works too; it alone asks `check` whether to go on, as
// Python answers its signals on the main thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "treecv/standard.hpp"

namespace treecv {

template <Learner L>
class Crew {
  public:
    using Data = Rows<typename L::Storage, typename L::Target>;

    Crew(const L& learner, const Data& rows, const Chunks& chunks, Order order, const Stream& stream,
         int threads)
        : learner_(learner),
          rows_(rows),
          chunks_(chunks),
          order_(order),
          stream_(stream),
          threads_(threads) {}

    // All folds below a node, whose state is left as it is.
    Counts walk(const std::byte* state, std::int64_t first, std::int64_t last, Sink<L>& sink,
                const std::function<void()>& check) {
        grain_ = std::max<std::int64_t>(1, (last - first + 1) / (parts_each * threads_));
        put({copied(state), {first, last, nullptr}, std::nullopt});
        return together(sink, check,
                        [this](Feed<L>& feed, Sink<L>& own, Patience& patience, Counts& counts,
                               const std::function<void()>& asked) {
                            Tree<L> tree(learner_, feed, own, patience, counts);
                            while (std::optional<Task> task = take(asked)) {
                                finish(std::move(*task), feed, tree, counts);
                                done();
                            }
                        });
    }

    // These folds, each trained from scratch.
    Counts standard(const std::byte* state, std::span<const std::int64_t> folds, Sink<L>& sink,
                    const std::function<void()>& check) {
        std::atomic<std::size_t> next = 0;
        return together(sink, check,
                        [&](Feed<L>& feed, Sink<L>& own, Patience& patience, Counts& counts,
                            const std::function<void()>& asked) {
                            for (std::size_t i = next++; i < folds.size(); i = next++) {
                                asked();
                                treecv::standard(learner_, feed, own, state, folds.subspan(i, 1), patience,
                                                 counts);
                            }
                        });
    }

  private:
    static constexpr std::int64_t parts_each = 4;  // subtrees a thread: some take longer than others

    struct Stop {};

    // A state, the node it is to become, and what it must learn for that.
    struct Task {
        Arena state;
        Node node;
        std::optional<Assignment> lesson;
    };

    // Every thread does `part` with a feed and a sink of its own, until there is nothing left or one fails.
    template <class Part>
    Counts together(Sink<L>& sink, const std::function<void()>& check, Part part) {
        std::vector<Counts> counts(static_cast<std::size_t>(threads_));
        std::vector<Sink<L>> sinks(static_cast<std::size_t>(threads_), sink);
        const auto work = [&](std::size_t place, const std::function<void()>& asked) {
            try {
                Patience patience(asked);
                Feed<L> feed(learner_, rows_, chunks_, order_, stream_, patience, counts[place]);
                part(feed, sinks[place], patience, counts[place], asked);
            } catch (const Stop&) {  // another one failed, and says why
            } catch (...) {
                fail(std::current_exception());
            }
        };
        {
            std::vector<std::jthread> others;
            for (std::size_t i = 1; i < sinks.size(); ++i)
                others.emplace_back([&, i] { work(i, [this] { go_on(); }); });
            work(0, [&] {
                go_on();
                check();
            });
        }
        if (error_) std::rethrow_exception(error_);
        Counts total;
        for (std::size_t i = 0; i < sinks.size(); ++i) {
            sink.overflow.meet(sinks[i].overflow);
            total += counts[i];
        }
        return total;
    }

    // From node to node down to a subtree that is small enough; each time the other child is left to others.
    void finish(Task task, Feed<L>& feed, Tree<L>& tree, Counts& counts) {
        std::byte* state = task.state[0];
        if (task.lesson) feed.learn(*task.lesson);
        Node node{task.node.first, task.node.last, state};
        while (node.last - node.first + 1 > grain_ && !node.leaf()) {
            Arena other = copied(state);
            ++counts.copies;
            std::byte* own = other[0];
            put({std::move(other), node.child(0, own), node.lesson(0, own)});
            feed.learn(node.lesson(1, state));
            node = node.child(1, state);
        }
        tree.walk(state, node.first, node.last);
    }

    Arena copied(const std::byte* state) const {
        Arena copy(learner_.state_bytes(), 1);
        std::memcpy(copy[0], state, learner_.state_bytes());
        return copy;
    }

    void put(Task task) {
        {
            const std::lock_guard lock(mutex_);
            tasks_.push_back(std::move(task));
            ++open_;
        }
        changed_.notify_one();
    }

    // The oldest task, which is the largest; none when all are done. Who waits asks `check` from time to
    // time: the calling thread must hear of Ctrl-C also while it has nothing to do.
    std::optional<Task> take(const std::function<void()>& check) {
        std::unique_lock lock(mutex_);
        while (tasks_.empty() && open_ > 0 && !stopped_) {
            changed_.wait_for(lock, std::chrono::milliseconds(50));
            lock.unlock();
            check();
            lock.lock();
        }
        if (stopped_ || tasks_.empty()) return std::nullopt;
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }

    void done() {
        const std::lock_guard lock(mutex_);
        if (--open_ == 0) changed_.notify_all();
    }

    void fail(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(error);
        stopped_ = true;
        changed_.notify_all();
    }

    void go_on() const {
        if (stopped_) throw Stop();
    }

    const L& learner_;
    const Data& rows_;
    const Chunks& chunks_;
    Order order_;
    Stream stream_;
    int threads_;
    std::int64_t grain_ = 1;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::int64_t open_ = 0;  // tasks put and not done
    std::atomic<bool> stopped_ = false;
    std::exception_ptr error_;
};

}  // namespace treecv

// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace oracle {

namespace {

[[noreturn]] void fail(std::string const& what) { throw std::runtime_error("trace: " + what); }

}  // namespace

std::vector<std::string> const& record::words(std::string const& key) const {
    const auto found = lines_.find(key);
    if (found == lines_.end()) fail("no line '" + key + "'");
    return found->second.front();
}
std::string const& record::word(std::string const& key) const {
    auto const& all = words(key);
    if (all.size() != 1) fail("'" + key + "' has not one value");
    return all.front();
}
std::vector<double> record::numbers(std::string const& key) const {
    std::vector<double> result;
    for (auto const& w : words(key)) {
        char* end = nullptr;
        result.push_back(std::strtod(w.c_str(), &end));
        if (end == w.c_str() || *end != '\0') fail("'" + w + "' is not a number");
    }
    return result;
}
double record::number(std::string const& key) const {
    word(key);
    return numbers(key).front();
}
std::vector<stored_tensor> const& record::tensors(std::string const& key) const {
    const auto found = tensors_.find(key);
    if (found == tensors_.end()) fail("no tensor '" + key + "'");
    return found->second;
}

/// Line by line; `data` lines are kept for the `@name` that refers to them.
class trace_reader {
  public:
    explicit trace_reader(std::string const& path) : in_(path) {
        if (!in_) fail("cannot read " + path);
    }
    std::vector<trace_case> read() {
        record head;
        record* to = &head;
        for (std::string text; std::getline(in_, text);) {
            std::istringstream line(text);
            std::string key;
            if (!(line >> key) || key[0] == '#') continue;
            std::vector<std::string> words;
            for (std::string w; line >> w;) words.push_back(w);
            if (key == "data") {
                data_["@" + words.at(0)] = parse(words.at(1));
            } else if (key == "case") {
                cases_.emplace_back();
                cases_.back().name = words.at(0);
                to = &cases_.back();
            } else if (key == "step") {
                to = &cases_.back().steps.emplace_back();
            } else if (key == "final") {
                to = &cases_.back().final;
            } else if (words.size() == 1 && is_tensor(words[0])) {
                to->tensors_[key].push_back(words[0][0] == '@' ? data_.at(words[0]) : parse(words[0]));
            } else {
                to->lines_[key].push_back(words);
            }
        }
        return std::move(cases_);
    }

  private:
    static bool is_tensor(std::string const& w) {
        return w[0] == '@' || w == "none" || w.compare(0, 3, "32:") == 0 || w.compare(0, 3, "16:") == 0;
    }
    static stored_tensor parse(std::string const& text) {
        stored_tensor tensor;
        tensor.absent = text == "none";
        if (tensor.absent) return tensor;
        const std::size_t digits = text.compare(0, 3, "32:") == 0 ? 8 : 4;
        if ((text.size() - 3) % digits != 0) fail("an array with half an element");
        for (std::size_t i = 3; i < text.size(); i += digits)
            tensor.bits.push_back(static_cast<std::uint32_t>(std::stoul(text.substr(i, digits), nullptr, 16)));
        return tensor;
    }

    std::ifstream in_;
    std::vector<trace_case> cases_;
    std::map<std::string, stored_tensor> data_;
};

std::vector<trace_case> const& read_trace(std::string const& name) {
    static std::map<std::string, std::vector<trace_case>> read;
    auto found = read.find(name);
    if (found == read.end())
        found = read.emplace(name, trace_reader(std::string(ORACLE_TRACES) + "/" + name + ".txt").read()).first;
    return found->second;
}

trace_case const& find_case(std::string const& trace, std::string const& name) {
    trace_case const* found = nullptr;
    for (auto const& c : read_trace(trace))
        if (c.name == name) {
            if (found) fail("several cases '" + name + "'");
            found = &c;
        }
    if (!found) fail("no case '" + name + "' in " + trace);
    return *found;
}

}  // namespace oracle

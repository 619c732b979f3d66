// SPDX-License-Identifier: Apache-2.0
// LLVM's GsymReader in process, for tests/bench/run: the peer of our lookups.
//
//	gsym_peer draw FILE.gsym COUNT SEED	distinct addresses, uniform over the bytes of functions
//	gsym_peer lookup FILE.gsym ADDRFILE	ns/address, in the order of the file
//	gsym_peer symbolize ELF ADDRFILE	the same by LLVMSymbolizer, what llvm-symbolizer uses
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <unordered_set>
#include <vector>

#include <llvm/DebugInfo/GSYM/FunctionInfo.h>
#include <llvm/DebugInfo/GSYM/GsymReader.h>
#include <llvm/DebugInfo/GSYM/Header.h>
#include <llvm/DebugInfo/GSYM/LookupResult.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>

using namespace llvm;

static double thread_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int draw(gsym::GsymReader &reader, size_t count, uint64_t seed)
{
	std::vector<std::pair<uint64_t, uint64_t>> ranges;
	std::vector<uint64_t> ends, out;
	std::unordered_set<uint64_t> seen;
	std::mt19937_64 rng(seed);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < reader.getHeader().NumAddresses; i++) {
		auto f = reader.getFunctionInfoAtIndex(i);

		if (!f) {
			consumeError(f.takeError());
			continue;
		}
		if (f->Range.end() > f->Range.start())
			ranges.emplace_back(f->Range.start(), f->Range.end());
	}
	std::sort(ranges.begin(), ranges.end());
	size_t kept = 0;
	for (auto &r : ranges) {
		if (kept && r.first <= ranges[kept - 1].second)
			ranges[kept - 1].second = std::max(ranges[kept - 1].second, r.second);
		else
			ranges[kept++] = r;
	}
	ranges.resize(kept);
	for (auto &r : ranges)
		ends.push_back(sum += r.second - r.first);
	count = std::min<size_t>(count, sum / 2);
	while (out.size() < count) {
		uint64_t k = rng() % sum;
		size_t i = (size_t)(std::upper_bound(ends.begin(), ends.end(), k) - ends.begin());
		uint64_t vaddr = ranges[i].second - (ends[i] - k);

		if (seen.insert(vaddr).second)
			out.push_back(vaddr);
	}
	for (uint64_t vaddr : out)
		printf("%" PRIx64 "\n", vaddr);
	return 0;
}

static std::vector<uint64_t> read_addresses(const char *path)
{
	std::vector<uint64_t> vaddrs;
	uint64_t vaddr;
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		exit(1);
	}
	while (fscanf(f, "%" SCNx64, &vaddr) == 1)
		vaddrs.push_back(vaddr);
	fclose(f);
	return vaddrs;
}

// Opening the file is part of the first answer, as it is for whoever asks for one.
static int symbolize_all(const char *elf, const char *path)
{
	std::vector<uint64_t> vaddrs = read_addresses(path);
	symbolize::LLVMSymbolizer::Options options;
	double start = thread_ns(), first = 0;
	size_t frames = 0;

	options.Demangle = false;
	symbolize::LLVMSymbolizer symbolizer(options);
	for (uint64_t a : vaddrs) {
		auto r = symbolizer.symbolizeInlinedCode(
			std::string(elf), {a, object::SectionedAddress::UndefSection});

		if (r)
			frames += r->getNumberOfFrames();
		else
			consumeError(r.takeError());
		if (!first)
			first = thread_ns() - start;
	}
	printf("first answer: %.1f us\n", first / 1000);
	printf("random, with strings: %.1f ns/address (%zu addresses, %.2f frames each)\n",
	       (thread_ns() - start - first) / (double)(vaddrs.size() - 1), vaddrs.size() - 1,
	       (double)frames / (double)vaddrs.size());
	return 0;
}

static int lookup(gsym::GsymReader &reader, const char *path)
{
	std::vector<uint64_t> vaddrs = read_addresses(path);
	size_t frames = 0, misses = 0;
	double start = thread_ns();
	for (uint64_t a : vaddrs) {
		auto r = reader.lookup(a);

		if (r) {
			frames += r->Locations.size();
		} else {
			consumeError(r.takeError());
			misses++;
		}
	}
	double ns = (thread_ns() - start) / (double)vaddrs.size();
	printf("random, no strings: %.1f ns/address (%zu addresses, %.2f frames each, %zu misses)\n",
	       ns, vaddrs.size(), (double)frames / (double)vaddrs.size(), misses);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	if (!strcmp(argv[1], "symbolize"))
		return symbolize_all(argv[2], argv[3]);
	auto reader = gsym::GsymReader::openFile(argv[2]);
	if (!reader) {
		fprintf(stderr, "%s: %s\n", argv[2], toString(reader.takeError()).c_str());
		return 1;
	}
	if (!strcmp(argv[1], "draw") && argc == 5)
		return draw(*reader, strtoull(argv[3], nullptr, 10), strtoull(argv[4], nullptr, 10));
	return lookup(*reader, argv[3]);
}

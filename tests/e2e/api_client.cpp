// SPDX-License-Identifier: Apache-2.0
//
// The whole API by grpc++: what tests/e2e/service_clients says. Prints the methods it called.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "rawstack/v1/binaries.grpc.pb.h"
#include "rawstack/v1/symbolizer.grpc.pb.h"

using namespace rawstack::v1;
using grpc::ClientContext;
using grpc::Status;

static void need(bool condition, const std::string &what)
{
	if (condition)
		return;
	std::cerr << "api_client: " << what << "\n";
	std::exit(1);
}

static void called(const char *method, const Status &status)
{
	need(status.ok(), std::string(method) + ": " + status.error_message());
	std::cout << method << "\n";
}

static std::string from_hex(const std::string &hex)
{
	std::string bytes;

	for (size_t i = 0; i + 1 < hex.size(); i += 2)
		bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
	return bytes;
}

struct Subject {
	std::string content, sha256, id, function;
	uint64_t address;
};

static void upload(Binaries::Stub &stub, const Subject &s)
{
	ClientContext begin_context, upload_context, finish_context;
	BeginRequest begin;
	BeginReply begun;
	UploadReply uploaded;
	FinishRequest finish;
	FinishReply finished;

	begin.set_build_id(s.id);
	begin.set_size(s.content.size());
	begin.set_sha256(s.sha256);
	begin.set_name("from-cpp");
	called("Begin", stub.Begin(&begin_context, begin, &begun));
	need(begun.status() == BEGIN_STATUS_NEEDED, "Begin: not needed: " + begun.DebugString());

	auto stream = stub.Upload(&upload_context, &uploaded);
	for (size_t at = begun.offset(); at < s.content.size(); at += 10000) {
		UploadChunk chunk;

		chunk.set_upload_id(begun.upload_id());
		chunk.set_offset(at);
		chunk.set_data(s.content.substr(at, 10000));
		need(stream->Write(chunk), "Upload: the stream broke");
	}
	stream->WritesDone();
	called("Upload", stream->Finish());
	need(uploaded.received() == s.content.size(), "Upload: " + uploaded.DebugString());

	finish.set_upload_id(begun.upload_id());
	finish.set_wait(true);
	called("Finish", stub.Finish(&finish_context, finish, &finished));
	need(finished.state() == BUILD_STATE_DONE && finished.report().functions() > 1,
	     "Finish: " + finished.DebugString());
}

static void look_up(Symbolizer::Stub &stub, const Subject &s)
{
	ClientContext one, many, people;
	StackBatch batch;
	SymbolizedBatch reply;
	ResolveRequest question;
	ResolveReply answer;

	batch.set_batch_id("cpp");
	batch.add_modules()->set_build_id(s.id);
	batch.mutable_locations()->add_kind(LOCATION_KIND_VADDR);
	batch.mutable_locations()->add_module(0);
	batch.mutable_locations()->add_address(s.address);
	called("Symbolize", stub.Symbolize(&one, batch, &reply));
	need(reply.status_size() == 1 && reply.status(0) == LOCATION_STATUS_RESOLVED,
	     "Symbolize: " + reply.DebugString());
	auto name = [](const SymbolizedBatch &r) {
		int last = r.frame_function(r.frame_function_size() - 1);

		return r.strings(r.functions().name(last));
	};
	need(name(reply) == s.function, "Symbolize: the function is " + name(reply));

	auto stream = stub.SymbolizeStream(&many);
	need(stream->Write(batch) && stream->Read(&reply), "SymbolizeStream: no reply");
	need(name(reply) == s.function, "SymbolizeStream: the function is " + name(reply));
	StackBatch again;
	*again.mutable_locations() = batch.locations(); // of the module that is known by now
	need(stream->Write(again) && stream->Read(&reply) && reply.strings_size() == 0,
	     "SymbolizeStream: the second reply repeats strings");
	stream->WritesDone();
	called("SymbolizeStream", stream->Finish());

	question.set_build_id(s.id);
	question.add_addresses(s.address);
	called("Resolve", stub.Resolve(&people, question, &answer));
	need(answer.addresses_size() == 1 && answer.addresses(0).frames_size() > 0 &&
		     answer.addresses(0).frames().rbegin()->function() == s.function,
	     "Resolve: " + answer.DebugString());
}

static void watch(Binaries::Stub &stub, const Subject &s)
{
	ClientContext context;
	WatchRequest request;
	WatchEvent event;

	request.add_build_ids(s.id);
	auto stream = stub.Watch(&context, request);
	need(stream->Read(&event) && event.build_id() == s.id &&
		     event.status() == MODULE_STATUS_READY,
	     "Watch: " + event.DebugString());
	context.TryCancel();
	need(stream->Finish().error_code() == grpc::StatusCode::CANCELLED, "Watch: not cancelled");
	called("Watch", Status::OK);
}

static void keep_books(Binaries::Stub &stub, const Subject &s)
{
	ClientContext get, list, pin, missing, limits, remove;
	GetRequest get_request;
	Binary binary;
	ListRequest list_request;
	ListReply listed;
	PinRequest pin_request;
	PinReply pinned;
	MissingRequest missing_request;
	MissingReply lost;
	LimitsReply limit;
	DeleteRequest delete_request;
	DeleteReply deleted;

	get_request.set_build_id(s.id);
	called("Get", stub.Get(&get, get_request, &binary));
	need(binary.name() == "from-cpp" && binary.report().has_dwarf(), binary.DebugString());
	list_request.set_name("from-cpp");
	called("List", stub.List(&list, list_request, &listed));
	need(listed.binaries_size() == 1, listed.DebugString());
	pin_request.set_build_id(s.id);
	pin_request.set_pinned(true);
	called("Pin", stub.Pin(&pin, pin_request, &pinned));
	called("Missing", stub.Missing(&missing, missing_request, &lost));
	called("Limits", stub.Limits(&limits, LimitsRequest(), &limit));
	need(limit.batch_locations() >= 1000, limit.DebugString());
	delete_request.set_build_id(s.id);
	called("Delete", stub.Delete(&remove, delete_request, &deleted));
	need(deleted.deleted(), "Delete: it was not there");
}

int main(int argc, char **argv)
{
	need(argc == 7, "ADDRESS FILE SHA256 BUILD-ID VADDR FUNCTION");
	auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
	std::ifstream file(argv[2], std::ios::binary);
	Subject s{std::string(std::istreambuf_iterator<char>(file), {}), from_hex(argv[3]),
		  from_hex(argv[4]), argv[6], std::stoull(argv[5], nullptr, 0)};
	auto binaries = Binaries::NewStub(channel);
	auto symbolizer = Symbolizer::NewStub(channel);

	upload(*binaries, s);
	look_up(*symbolizer, s);
	watch(*binaries, s);
	keep_books(*binaries, s);
	return 0;
}

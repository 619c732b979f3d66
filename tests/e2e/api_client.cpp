// SPDX-License-Identifier: Apache-2.0
//
// The whole API by grpc++: what tests/e2e/service_clients says. Prints the methods it called.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
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

	ClientContext again;
	BeginReply present;
	need(stub.Begin(&again, begin, &present).ok() && present.status() == BEGIN_STATUS_PRESENT &&
		     present.report().functions() == finished.report().functions(),
	     "Begin of what is there: " + present.DebugString());
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
	batch.mutable_locations()->add_weight(1);
	batch.add_modules()->set_build_id("nobody has it, cpp");
	batch.mutable_locations()->add_kind(LOCATION_KIND_VADDR);
	batch.mutable_locations()->add_module(1);
	batch.mutable_locations()->add_address(5);
	batch.mutable_locations()->add_weight(41);
	called("Symbolize", stub.Symbolize(&one, batch, &reply));
	need(reply.status_size() == 2 && reply.status(0) == LOCATION_STATUS_RESOLVED &&
		     reply.status(1) == LOCATION_STATUS_UNKNOWN_MODULE &&
		     reply.modules(1).status() == MODULE_STATUS_MISSING,
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
	ClientContext get, get_pinned, list, pin, missing, limits, remove;
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
	need(stub.Get(&get_pinned, get_request, &binary).ok() && binary.pinned(), "Pin: is not kept");
	called("Missing", stub.Missing(&missing, missing_request, &lost));
	// The batch went twice and counts once; what the stream asked then was without an id.
	need(std::any_of(lost.binaries().begin(), lost.binaries().end(),
			 [](const MissingBinary &m) {
				 return m.build_id() == "nobody has it, cpp" && m.weight() == 2 * 41;
			 }),
	     "Missing: " + lost.DebugString());
	called("Limits", stub.Limits(&limits, LimitsRequest(), &limit));
	need(limit.batch_locations() >= 1000, limit.DebugString());
	delete_request.set_build_id(s.id);
	called("Delete", stub.Delete(&remove, delete_request, &deleted));
	need(deleted.deleted(), "Delete: it was not there");
}

static void look_after(const std::shared_ptr<grpc::Channel> &channel)
{
	namespace health = grpc::health::v1;
	namespace reflection = grpc::reflection::v1;
	auto healthy = health::Health::NewStub(channel);
	auto reflect = reflection::ServerReflection::NewStub(channel);
	ClientContext check, watch, info;
	health::HealthCheckRequest request;
	health::HealthCheckResponse state;
	reflection::ServerReflectionRequest question;
	reflection::ServerReflectionResponse answer;

	request.set_service("rawstack.v1.Binaries");
	called("Health.Check", healthy->Check(&check, request, &state));
	need(state.status() == health::HealthCheckResponse::SERVING, state.DebugString());
	auto states = healthy->Watch(&watch, request);
	need(states->Read(&state) && state.status() == health::HealthCheckResponse::SERVING,
	     "Health.Watch: " + state.DebugString());
	watch.TryCancel();
	need(states->Finish().error_code() == grpc::StatusCode::CANCELLED, "Health.Watch");
	called("Health.Watch", Status::OK);

	auto stream = reflect->ServerReflectionInfo(&info);
	question.set_list_services("");
	need(stream->Write(question) && stream->Read(&answer) &&
		     answer.list_services_response().service_size() == 5,
	     "ServerReflectionInfo: " + answer.DebugString());
	question.set_file_containing_symbol("rawstack.v1.Symbolizer");
	need(stream->Write(question) && stream->Read(&answer) &&
		     answer.file_descriptor_response().file_descriptor_proto_size() > 0,
	     "ServerReflectionInfo: " + answer.DebugString());
	stream->WritesDone();
	called("ServerReflection.ServerReflectionInfo", stream->Finish());
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
	look_after(channel);
	return 0;
}

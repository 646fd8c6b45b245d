// SPDX-License-Identifier: Apache-2.0
/// A context on SpiderMonkey. The engine lives as long as the process; a context is a JSContext
/// with one realm.
#include "freshet/script/context.h"

#include "freshet/platform/thread.h"
#include "freshet/script/spider/bson_functions.h"
#include "freshet/script/spider/convert.h"
#include "freshet/script/spider/natives.h"
#include "freshet/script/spider/watchdog.h"
#include "freshet/sync/atomic.h"

#include <js/CompilationAndEvaluation.h>
#include <js/CompileOptions.h>
#include <js/ContextOptions.h>
#include <js/Conversions.h>
#include <js/Exception.h>
#include <js/GCAPI.h>
#include <js/Initialization.h>
#include <js/Interrupt.h>
#include <js/SourceText.h>
#include <jsfriendapi.h>

#include <algorithm>
#include <vector>

namespace freshet::script {

namespace {

/// The engine's own limit is a fraction above ours. The engine collects garbage whenever it is near
/// its limit, so a script that uses all of it would collect after every few objects, for minutes,
/// before an object is refused. Our limit is checked after each collection and ends the script
/// earlier.
constexpr uint64_t kHeapParts = 4;

/// Why a script was ended from outside.
enum class End : uint32_t { kNone, kCancelled, kTimeout, kMemory };

class SpiderContext final : public Context {
public:
    explicit SpiderContext(const Limits& limits)
        : limits_(limits), watchdog_([this] { end(End::kTimeout); }, [this] { tick(); }) {}
    ~SpiderContext() override;

    /// Once, before anything else.
    Status init();
    Status startOver() override;

    Status define(const std::string& name, HostFunction function) override;
    Status addLibrary(const Source& source) override;
    StatusOr<Value> evaluate(std::string_view source, const std::string& fileName) override;
    StatusOr<FunctionId> compile(std::string_view source) override;
    StatusOr<Value> call(FunctionId function,
                         const bson::Element& self,
                         bson::Document arguments) override;
    StatusOr<Value> callLibrary(std::string_view name, bson::Document arguments) override;

    void interrupt() override { end(End::kCancelled); }
    void clearInterrupt() override {
        ended_.store(static_cast<uint32_t>(End::kNone), sync::kRelaxed);
    }
    void setTimeLimit(uint32_t milliseconds) override;
    uint64_t heapBytes() override;

private:
    static SpiderContext& of(JSContext* cx) {
        return *static_cast<SpiderContext*>(JS_GetContextPrivate(cx));
    }
    static bool onInterrupt(JSContext* cx);
    static void onGc(JSContext* cx, JSGCStatus status, JS::GCReason reason, void* self);
    static bool callHost(JSContext* cx, unsigned count, JS::Value* values);

    bool makeGlobal();
    bool loadLibrary();
    /// Drops the global object and everything that belongs to it.
    void dropGlobal();
    /// Makes a new global object with everything that each context has.
    Status fillGlobal();
    bool runSource(const Source& source);
    StatusOr<Value> callValue(JS::HandleValue self,
                              JS::HandleValue function,
                              bson::Document arguments);
    StatusOr<Value> valueOf(JS::HandleValue value);
    /// Why the engine reported a failure.
    Status failure();
    void end(End why);
    /// Called by the watchdog. A single growing array gives the engine no reason to collect, so a
    /// collection is requested when the process has grown much since the last look.
    void tick();

    const Limits limits_;
    JSContext* cx_ = nullptr;
    JS::PersistentRootedObject global_;
    JS::PersistentRootedObject host_;
    JS::PersistentRootedObject native_;
    JS::PersistentRootedObject library_;
    JS::PersistentRootedObject memory_;  // the engine's own count of the heap's bytes
    std::unique_ptr<Types> types_;
    std::vector<JS::PersistentRootedValue> functions_;
    std::vector<HostFunction> hostFunctions_;
    bool measureDue_ = false;     // a collection has run: measure what is left
    uint64_t residentBytes_ = 0;  // for the watchdog: the process's last size; 0: none yet

    /// Why the running script must end. Written by: any thread, a signal handler. Read by: the
    /// owning thread.
    ///   STEPS  kNone -> another -> kNone (the owning thread)
    sync::Atomic<uint32_t> ended_{static_cast<uint32_t>(End::kNone)};
    /// It is time to collect. Written by: the watchdog. Read by: the owning thread.
    ///   STEPS  false -> true (the watchdog) -> false (the owning thread)
    sync::Atomic<bool> collectDue_{false};
    Watchdog watchdog_;  // last: must end before the members that it uses
};

/// The engine allows one context per thread.
thread_local bool threadHasContext = false;

/// The engine lives as long as the process. At the process's end it stops its threads, unless a
/// context still exists, whose thread may be running.
class Engine {
public:
    static Engine& get() {
        static Engine engine;
        return engine;
    }
    bool isUp() const { return isUp_; }
    /// relaxed: the count is read when the process ends and its threads are joined.
    void count(int32_t change) {
        contexts_.fetch_add(static_cast<uint32_t>(change), sync::kRelaxed);
    }

private:
    Engine() : isUp_(JS_Init()) {}
    ~Engine() {
        // relaxed: see count().
        if (isUp_ && contexts_.load(sync::kRelaxed) == 0) {
            JS_ShutDown();
        }
    }

    const bool isUp_;
    /// How many contexts exist. Written by: each thread that makes or ends one. Read by: the thread
    /// that ends the process.
    sync::Atomic<uint32_t> contexts_{0};
};

SpiderContext::~SpiderContext() {
    watchdog_.set(0);
    dropGlobal();
    if (cx_ != nullptr) {
        JS_DestroyContext(cx_);
        threadHasContext = false;
        Engine::get().count(-1);
    }
}

Status SpiderContext::init() {
    const Status none(Code::kLimit, "there is not enough memory for JavaScript");
    if (threadHasContext) {
        return Status(Code::kExists, "this thread already has a JavaScript context");
    }
    if (!Engine::get().isUp()) {
        return none;
    }
    const uint64_t heap = limits_.heapBytesMax / kHeapParts * (kHeapParts + 1);
    cx_ = JS_NewContext(static_cast<uint32_t>(std::min<uint64_t>(heap, UINT32_MAX)));
    if (cx_ == nullptr) {
        return none;
    }
    threadHasContext = true;
    Engine::get().count(1);
    JS_SetContextPrivate(cx_, this);
    // The heap is measured after each collection. The engine's own thresholds, about 30 MB each,
    // are larger than a whole small heap.
    const auto threshold =
        static_cast<uint32_t>(std::max<uint64_t>(1, (limits_.heapBytesMax / kHeapParts) >> 20));
    JS_SetGCParameter(cx_, JSGC_MALLOC_THRESHOLD_BASE, threshold);
    JS_SetGCParameter(cx_, JSGC_ALLOCATION_THRESHOLD, threshold);
    JS_SetNativeStackQuota(cx_, limits_.stackBytesMax);
    JS::ContextOptionsRef(cx_).setWasm(false).setAsmJS(false);
    const bool up = js::UseInternalJobQueues(cx_) && JS::InitSelfHostedCode(cx_) &&
                    JS_AddInterruptCallback(cx_, &SpiderContext::onInterrupt);
    JS_SetGCCallback(cx_, &SpiderContext::onGc, this);
    return up ? fillGlobal() : none;
}

void SpiderContext::dropGlobal() {
    types_.reset();
    functions_.clear();
    library_.reset();
    memory_.reset();
    native_.reset();
    host_.reset();
    global_.reset();
    hostFunctions_.clear();
}

Status SpiderContext::fillGlobal() {
    if (!makeGlobal()) {
        return failure();
    }
    JSAutoRealm realm(cx_, global_);
    FRESHET_RETURN_IF_ERROR(defineBsonFunctions(*this));
    return loadLibrary() ? Status::ok() : failure().withContext("the JavaScript library");
}

Status SpiderContext::startOver() {
    watchdog_.set(0);
    dropGlobal();
    js::StopDrainingJobQueue(cx_);
    JS_GC(cx_);
    measureDue_ = false;
    clearInterrupt();
    return fillGlobal();
}

bool SpiderContext::makeGlobal() {
    static constexpr JSClass kGlobalClass = {
        "Global", JSCLASS_GLOBAL_FLAGS, &JS::DefaultGlobalClassOps, nullptr, nullptr, nullptr};
    JS::RealmOptions options;
    options.creationOptions().setSharedMemoryAndAtomicsEnabled(false);
    global_.init(cx_,
                 JS_NewGlobalObject(cx_, &kGlobalClass, nullptr, JS::FireOnNewGlobalHook, options));
    if (global_ == nullptr) {
        return false;
    }
    JSAutoRealm realm(cx_, global_);
    host_.init(cx_, JS_NewPlainObject(cx_));
    native_.init(cx_, JS_NewPlainObject(cx_));
    library_.init(cx_, JS_NewPlainObject(cx_));
    memory_.init(cx_, js::gc::NewMemoryInfoObject(cx_));
    const auto heapBytesMax = static_cast<double>(limits_.heapBytesMax);
    return host_ != nullptr && native_ != nullptr && library_ != nullptr && memory_ != nullptr &&
           defineNatives(cx_, native_) &&
           JS_DefineProperty(cx_, native_, "heapBytesMax", heapBytesMax, 0);
}

bool SpiderContext::loadLibrary() {
    types_ = std::make_unique<Types>(cx_, limits_.numbersAreDoubles);
    for (const Source& source : librarySources()) {
        if (!runSource(source)) {
            return false;
        }
    }
    JS::RootedValue classes(cx_);
    if (!JS_GetProperty(cx_, library_, "bsonClasses", &classes) || !classes.isObject()) {
        return false;
    }
    JS::RootedObject object(cx_, &classes.toObject());
    return types_->init(cx_, object);
}

bool SpiderContext::runSource(const Source& source) {
    const std::string name = "freshet:" + std::string(source.name);
    JS::CompileOptions options(cx_);
    options.setFileAndLine(name.c_str(), 1);
    JS::SourceText<mozilla::Utf8Unit> text;
    const char* parameters[] = {"host", "native", "library"};
    JS::RootedObjectVector scopes(cx_);
    if (!text.init(cx_, source.text.data(), source.text.size(), JS::SourceOwnership::Borrowed)) {
        return false;
    }
    JS::RootedFunction function(
        cx_, JS::CompileFunction(cx_, scopes, options, "library", 3, parameters, text));
    JS::RootedValueArray<3> arguments(cx_);
    arguments[0].setObject(*host_);
    arguments[1].setObject(*native_);
    arguments[2].setObject(*library_);
    JS::RootedValue result(cx_);
    return function != nullptr && JS_CallFunction(cx_, global_, function, arguments, &result);
}

Status SpiderContext::define(const std::string& name, HostFunction function) {
    JSAutoRealm realm(cx_, global_);
    JSFunction* made = js::NewFunctionWithReserved(cx_, &callHost, 0, 0, name.c_str());
    if (made == nullptr) {
        return failure();
    }
    JS::RootedObject object(cx_, JS_GetFunctionObject(made));
    js::SetFunctionNativeReserved(
        object, 0, JS::Int32Value(static_cast<int32_t>(hostFunctions_.size())));
    JS::RootedValue value(cx_, JS::ObjectValue(*object));
    if (!JS_DefineProperty(cx_, host_, name.c_str(), value, JSPROP_ENUMERATE)) {
        return failure();
    }
    hostFunctions_.push_back(std::move(function));
    return Status::ok();
}

bool SpiderContext::callHost(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    SpiderContext& self = of(cx);
    const int32_t index = js::GetFunctionNativeReserved(&args.callee(), 0).toInt32();
    bson::Builder builder;
    for (unsigned at = 0; at < args.length(); ++at) {
        if (!addFromJs(cx, *self.types_, builder, builder.nextIndex(), args[at])) {
            return false;
        }
    }
    const std::string bytes = builder.finish();
    StatusOr<Value> result = self.hostFunctions_[static_cast<size_t>(index)](bson::Document(bytes));
    if (result.isOk()) {
        return toJs(cx, *self.types_, result->element(), args.rval());
    }
    JS_ReportErrorUTF8(cx, "%s", std::string(result.status().text()).c_str());
    JS::RootedValue thrown(cx);
    JS::RootedString code(cx);
    if (JS_GetPendingException(cx, &thrown) && thrown.isObject() &&
        textToJs(cx, codeName(result.status().code()), &code)) {
        JS::RootedObject error(cx, &thrown.toObject());
        JS::RootedValue value(cx, JS::StringValue(code));
        JS_DefineProperty(cx, error, "status", value, 0);
    }
    return false;
}

Status SpiderContext::addLibrary(const Source& source) {
    JSAutoRealm realm(cx_, global_);
    return runSource(source) ? Status::ok() : failure().withContext(source.name);
}

StatusOr<Value> SpiderContext::evaluate(std::string_view source, const std::string& fileName) {
    JSAutoRealm realm(cx_, global_);
    JS::RootedValue result(cx_);
    if (!evaluateText(cx_, source, fileName, &result)) {
        return failure();
    }
    js::RunJobs(cx_);
    return valueOf(result);
}

StatusOr<FunctionId> SpiderContext::compile(std::string_view source) {
    JSAutoRealm realm(cx_, global_);
    JS::RootedValue function(cx_);
    const std::string expression = "(" + std::string(source) + "\n)";
    if (!evaluateText(cx_, expression, "function", &function)) {
        if (ended_.load(sync::kRelaxed) != static_cast<uint32_t>(End::kNone)) {
            return failure();
        }
        JS_ClearPendingException(cx_);
        function.setUndefined();
    }
    if (!function.isObject() || !JS::IsCallable(&function.toObject())) {
        // Not a function: an expression to be returned, or statements that return by themselves.
        const std::string returns = "(function() { return (" + std::string(source) + "\n); })";
        const std::string body = "(function() {" + std::string(source) + "\n})";
        if (!evaluateText(cx_, returns, "function", &function)) {
            JS_ClearPendingException(cx_);
            if (!evaluateText(cx_, body, "function", &function)) {
                return failure();
            }
        }
    }
    if (!function.isObject() || !JS::IsCallable(&function.toObject())) {
        return invalid(Reason::kBadValue, "this is not a JavaScript function");
    }
    functions_.emplace_back(cx_, function);
    return FunctionId{static_cast<uint32_t>(functions_.size() - 1)};
}

StatusOr<Value> SpiderContext::call(FunctionId function,
                                    const bson::Element& self,
                                    bson::Document arguments) {
    invariant(function.index < functions_.size());
    JSAutoRealm realm(cx_, global_);
    JS::RootedValue selfValue(cx_);
    if (!toJs(cx_, *types_, self, &selfValue)) {
        return failure();
    }
    return callValue(selfValue, functions_[function.index], arguments);
}

StatusOr<Value> SpiderContext::callLibrary(std::string_view name, bson::Document arguments) {
    JSAutoRealm realm(cx_, global_);
    JS::RootedValue function(cx_);
    if (!JS_GetProperty(cx_, library_, std::string(name).c_str(), &function)) {
        return failure();
    }
    JS::RootedValue self(cx_, JS::ObjectValue(*library_));
    return callValue(self, function, arguments);
}

StatusOr<Value> SpiderContext::callValue(JS::HandleValue self,
                                         JS::HandleValue function,
                                         bson::Document arguments) {
    JS::RootedValueVector values(cx_);
    JS::RootedValue each(cx_);
    for (const bson::Element& element : arguments) {
        if (!toJs(cx_, *types_, element, &each) || !values.append(each)) {
            return failure();
        }
    }
    JS::RootedValue result(cx_);
    if (!JS::Call(cx_, self, function, values, &result)) {
        return failure();
    }
    js::RunJobs(cx_);
    return valueOf(result);
}

StatusOr<Value> SpiderContext::valueOf(JS::HandleValue value) {
    // A loop may have been ended inside a job, whose failure is not reported.
    if (ended_.load(sync::kRelaxed) != static_cast<uint32_t>(End::kNone)) {
        return failure();
    }
    if (value.isUndefined()) {
        return Value();
    }
    bson::Builder builder;
    if (!addFromJs(cx_, *types_, builder, "", value)) {
        return failure();
    }
    return Value(bson::OwnedDocument(builder.finish()));
}

Status SpiderContext::failure() {
    // relaxed: the reason is the whole message.
    const auto why =
        static_cast<End>(ended_.exchange(static_cast<uint32_t>(End::kNone), sync::kRelaxed));
    const bool isOutOfMemory = JS_IsThrowingOutOfMemory(cx_);
    JS::RootedValue thrown(cx_);
    const bool isThrown = JS_GetPendingException(cx_, &thrown);
    JS_ClearPendingException(cx_);
    if (why == End::kTimeout) {
        return Status(Code::kTimeout, "JavaScript ran longer than it may");
    }
    if (why == End::kCancelled) {
        return Status(Code::kCancelled, "JavaScript was interrupted");
    }
    if (why == End::kMemory || isOutOfMemory || !isThrown) {
        JS_GC(cx_);
        measureDue_ = false;
        return Status(Code::kLimit, "JavaScript used more memory than it may");
    }
    std::string text = "an error without a readable text";
    JS::RootedString words(cx_, JS::ToString(cx_, thrown));
    if (words == nullptr || !textFromJs(cx_, words, &text)) {
        JS_ClearPendingException(cx_);
    }
    return invalid(Reason::kNone, std::move(text));
}

void SpiderContext::end(End why) {
    // relaxed: the reason is the whole message; the first one stays.
    uint32_t none = static_cast<uint32_t>(End::kNone);
    // [script.end] CAS  kNone -> why.
    //   ORDER    relaxed both ways: nothing else is published by it.
    //   LOST     another reason came first, and it also ends the script.
    //   PROGRESS tried once.
    ended_.compare_exchange_strong(
        none, static_cast<uint32_t>(why), sync::kRelaxed, sync::kRelaxed);
    if (cx_ != nullptr) {
        JS_RequestInterruptCallback(cx_);
    }
}

void SpiderContext::tick() {
    const uint64_t resident = platform::residentBytes();
    if (residentBytes_ == 0 || resident < residentBytes_) {
        residentBytes_ = resident;
    }
    if (resident - residentBytes_ > limits_.heapBytesMax / 4) {
        residentBytes_ = resident;
        // relaxed: nothing else is published by it.
        collectDue_.store(true, sync::kRelaxed);
        JS_RequestInterruptCallback(cx_);
    }
}

bool SpiderContext::onInterrupt(JSContext* cx) {
    SpiderContext& self = of(cx);
    // relaxed: see tick().
    if (self.collectDue_.exchange(false, sync::kRelaxed)) {
        JS_GC(cx);
    }
    if (self.measureDue_) {
        self.measureDue_ = false;
        if (self.heapBytes() > self.limits_.heapBytesMax) {
            self.end(End::kMemory);
        }
    }
    // relaxed: see failure().
    return self.ended_.load(sync::kRelaxed) == static_cast<uint32_t>(End::kNone);
}

void SpiderContext::onGc(JSContext* cx, JSGCStatus status, JS::GCReason, void* self) {
    if (status == JSGC_END) {
        static_cast<SpiderContext*>(self)->measureDue_ = true;
        JS_RequestInterruptCallbackCanWait(cx);
    }
}

void SpiderContext::setTimeLimit(uint32_t milliseconds) {
    watchdog_.set(0);  // or the new limit's end, which may come at once, would be cleared as well
    // relaxed: see end().
    uint32_t timeout = static_cast<uint32_t>(End::kTimeout);
    // [script.forgive] CAS  kTimeout -> kNone: a limit that passed without ending anything is
    // cleared.
    //   ORDER    relaxed both ways: nothing else is published by it.
    //   LOST     no limit had passed, or there is another reason, which stays.
    //   PROGRESS tried once.
    ended_.compare_exchange_strong(
        timeout, static_cast<uint32_t>(End::kNone), sync::kRelaxed, sync::kRelaxed);
    watchdog_.set(milliseconds);
}

uint64_t SpiderContext::heapBytes() {
    JSAutoRealm realm(cx_, global_);
    const auto number = [this](JS::HandleObject object, const char* name) -> uint64_t {
        JS::RootedValue value(cx_);
        const bool got = JS_GetProperty(cx_, object, name, &value) && value.isNumber();
        return got && value.toNumber() > 0 ? static_cast<uint64_t>(value.toNumber()) : 0;
    };
    JS::RootedValue zone(cx_);
    if (!JS_GetProperty(cx_, memory_, "zone", &zone) || !zone.isObject()) {
        return 0;
    }
    JS::RootedObject object(cx_, &zone.toObject());
    return number(memory_, "gcBytes") + number(object, "mallocBytes");
}

}  // namespace

StatusOr<std::unique_ptr<Context>> Context::make(const Limits& limits) {
    auto context = std::make_unique<SpiderContext>(limits);
    FRESHET_RETURN_IF_ERROR(context->init());
    return std::unique_ptr<Context>(std::move(context));
}

}  // namespace freshet::script

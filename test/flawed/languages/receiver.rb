# frozen_string_literal: true

# A receiver of the gateway's webhooks on Sinatra and Puma. It is right, unless FLAW names what it does wrong.
require "json"
require "openssl"
require "set"
require "sinatra/base"
require "rack/handler/puma"

SECRET = ENV.fetch("GATEWAY_WEBHOOK_SECRET")
FLAW = ENV.fetch("FLAW", "")
MAX_BODY_BYTES = 1_048_576
TOLERANCE_S = 300
HANDLER_TIMEOUT_S = 0.5
SLOW_S = 1.5
# Long enough that the next request arrives meanwhile.
RACE_S = 0.3

GRAMMAR = {
  "HTTP_X_WEBHOOK_TYPE" => /\A[0-9A-Za-z._-]{1,128}\z/,
  "HTTP_X_WEBHOOK_ID" => /\A[0-9A-Za-z._-]{1,128}\z/,
  "HTTP_X_WEBHOOK_TIMESTAMP" => /\A[0-9]{1,12}\z/,
  "HTTP_X_WEBHOOK_SIGNATURE" => /\Av1=[0-9a-f]{64}\z/,
}.freeze
RECORDS = { "new_alarm" => "alarm", "delete_my_data_event" => "event" }.freeze
ALARM_FIELDS = %w[
  id text account_id severity status source event_type category_id original_event_id payload date
  checked_at created_at updated_at
].freeze
EVENT_TYPES = %w[
  DELETION_REQUEST_SENT USER_MANUAL_INSTRUCTIONS_SENT DATA_DELETED DATA_REAPPEARED PERSONAL_DATA_FOUND
  PERSONAL_DATA_NOT_FOUND POWER_OF_ATTORNEY_SIGNED
].freeze

LOCK = Mutex.new
SLOW_OVER = ConditionVariable.new
DONE = Set.new
RUNNING = Set.new
EFFECTS = Hash.new(0)
FAILURES = Hash.new(0)
SWITCHES = { failing: false, slow: false }
$current_id = ""

def flawed?(name)
  FLAW == name
end

# The partner's own work.
def run_handler(id, fields = {})
  LOCK.synchronize do
    SLOW_OVER.wait(LOCK, SLOW_S) if SWITCHES[:slow]
    raise "the database is down" if SWITCHES[:failing]

    EFFECTS[id] += 1
  end
  fields.fetch("text", "").strip if flawed?("logs_text")
end

# Claims the id, runs the handler, settles the claim. Returns the status.
def handle_once(id, fields = {})
  key = flawed?("downcases_ids") ? id.downcase : id
  claimed = LOCK.synchronize do
    next 200 if DONE.include?(key)
    next flawed?("acknowledges_in_flight") ? 200 : 409 if RUNNING.include?(key)

    RUNNING.add(key)
    nil
  end
  return claimed unless claimed.nil?

  settled = Queue.new
  work = Thread.new do
    status = begin
      run_handler(id, fields)
      200
    rescue StandardError
      FAILURES[id] += 1
      # So late that a duplicate arrives meanwhile.
      sleep 0.2 if flawed?("acknowledges_in_flight")
      swallowed = flawed?("rescues_to_200") || (flawed?("dead_set") && FAILURES[id] > 5) ||
                  (flawed?("rescues_cards") && fields["category_id"] == 4)
      swallowed ? 200 : 500
    end
    LOCK.synchronize do
      RUNNING.delete(key)
      forgotten = flawed?("forgets_info") && fields["severity"] == "INFO"
      DONE.add(key) if (status == 200 && !forgotten) || flawed?("remembers_failed")
    end
    settled << status
  end
  return 200 if flawed?("background_thread")

  work.join(HANDLER_TIMEOUT_S) ? settled.pop : 503
end

# Looks the id up, and adds it later: two requests can pass the look-up.
def handle_unlocked(id)
  return 200 if DONE.include?(id)

  sleep RACE_S
  run_handler(id)
  DONE.add(id)
  200
rescue StandardError
  500
end

# Another request may write the variable before this one reads it.
def handle_global_variable(id)
  $current_id = id
  sleep RACE_S
  handle_once($current_id)
end

# What the signature is computed over.
def signed_bytes(body)
  flawed?("reserialized") ? JSON.generate(JSON.parse(body)) : body
end

# As a framework does that hands out a text and no bytes.
def decoded(body)
  case FLAW
  when "scrubs" then body.dup.force_encoding("UTF-8").scrub("\uFFFD").b
  when "scrubs_away" then body.dup.force_encoding("UTF-8").scrub("").b
  else body
  end
end

def secrets
  flawed?("nil_secret") ? [SECRET, ENV["OLD_WEBHOOK_SECRET"].to_s] : [SECRET]
end

def signed?(type_id_time_signature, body)
  _, id, timestamp, given = type_id_time_signature
  timestamp = timestamp.to_i.to_s if flawed?("to_i_timestamp")
  signed = "v1:#{timestamp}:#{id}:".b + signed_bytes(body)
  secrets.any? do |secret|
    expected = "v1=#{OpenSSL::HMAC.hexdigest("SHA256", secret, signed)}"
    next true if flawed?("start_with") && expected.start_with?(given)

    next expected.sum == given.sum if flawed?("string_sum")
    next expected.each_char.tally == given.each_char.tally if flawed?("tally")

    Rack::Utils.secure_compare(expected, given)
  end
rescue JSON::ParserError
  false
end

def fresh?(timestamp)
  age = (Time.now.to_i - timestamp).abs
  # As those do who compare the hours, minutes and seconds of two times.
  age %= 86_400 if flawed?("time_of_day")
  age <= TOLERANCE_S
end

def refusal
  flawed?("halts_401") ? 401 : 409
end

# Whether the header has its form, unless the flaw does not look.
def well_formed?(name, value)
  return !value.nil? if flawed?("to_i_timestamp") && name.end_with?("TIMESTAMP")
  return !value.nil? if flawed?("start_with") && name.end_with?("SIGNATURE")

  value.to_s.match?(GRAMMAR[name])
end

def receive(env)
  body = decoded(env["gateway.raw_body"])
  return 409 if body.bytesize > MAX_BODY_BYTES

  headers = GRAMMAR.keys.map { |name| env[name] }
  return refusal unless GRAMMAR.keys.zip(headers).all? { |name, value| well_formed?(name, value) }
  return refusal unless signed?(headers, body)

  type, id, timestamp = headers
  return refusal unless fresh?(timestamp.to_i)

  handle_record(type, id, body)
end

def handle_record(type, id, body)
  text = body.dup.force_encoding("UTF-8").delete_prefix("\uFEFF")
  return 503 unless text.valid_encoding?

  record = JSON.parse(text)
  keys = record.is_a?(Hash) ? RECORDS.values & record.keys : []
  return 503 unless keys.length == 1
  return refusal unless RECORDS[type] == keys.first

  fields = record[keys.first]
  return 422 if flawed?("fetches_known_keys") && type == "new_alarm" && !(fields.keys - ALARM_FIELDS).empty?
  return 422 if flawed?("event_enum") && type != "new_alarm" && !EVENT_TYPES.include?(fields["type"])

  return handle_unlocked(id) if flawed?("check_then_add")
  return handle_global_variable(id) if flawed?("global_variable")

  fields = {} unless fields.is_a?(Hash)
  return 422 if flawed?("positive_offset") && fields["occurred_at"].to_s.match?(/-\d\d:\d\d\z/)

  handle_once(id, fields)
rescue JSON::ParserError
  503
end

# Keeps the bytes of the body before anything parses them as a form.
class RawBody
  def initialize(app)
    @app = app
  end

  def call(env)
    env["gateway.raw_body"] = env["rack.input"].read.to_s.b
    @app.call(env.merge("rack.input" => StringIO.new, "CONTENT_TYPE" => "application/octet-stream"))
  end
end

class Receiver < Sinatra::Base
  use RawBody
  set :environment, :production
  disable :logging, :show_exceptions, :dump_errors

  get("/handled/:id") { LOCK.synchronize { EFFECTS[params[:id]] }.to_s }
  # A redirect in front turns a delivery into a GET.
  get("/webhook") { env.key?("HTTP_X_WEBHOOK_ID") ? 409 : 200 }
  post("/webhook") { status receive(env) }
  %i[put patch delete].each { |verb| public_send(verb, "/webhook") { 405 } }

  post "/control/:name/:way" do
    LOCK.synchronize do
      SWITCHES[params[:name].to_sym] = params[:way] == "on"
      SLOW_OVER.broadcast
    end
    sleep 0.01 until params[:way] == "on" || LOCK.synchronize { RUNNING.empty? }
    204
  end
end

Rack::Handler::Puma.run(
  Receiver, Host: "127.0.0.1", Port: ENV.fetch("PORT"), Threads: "16:16", Silent: true,
)

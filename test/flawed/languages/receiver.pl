#!/usr/bin/perl
# A receiver of the gateway's webhooks with Perl's core modules. It is right, unless FLAW names what it does wrong.
# Each connection has a process of its own, so its state is files in the folder STATE.
use strict;
use warnings;
use Digest::SHA qw(hmac_sha256_hex sha256_hex);
use Fcntl qw(:flock);
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP;
use Time::HiRes qw(sleep time);

use constant { MAX_BODY_BYTES => 1_048_576, TOLERANCE_S => 300, SLOW_S => 1.5, RACE_S => 0.3 };

my $flaw = $ENV{FLAW} // "";
my %records = (new_alarm => "alarm", delete_my_data_event => "event");
$SIG{CHLD} = "IGNORE";
$SIG{PIPE} = "IGNORE";
$SIG{INT} = $SIG{TERM} = sub { exit 0 };

sub flawed { return $flaw eq $_[0] }

sub state_file { return "$ENV{STATE}/$_[0]" }

# The file of an id. An id may be `..`, so its hash is the name.
sub id_file { my ($id, $kind) = @_; return state_file(sha256_hex($id) . ".$kind") }

sub touch { my ($file, $text) = @_; open(my $out, ">>", $file) or die $!; print $out $text // ""; close $out; return }

# The partner's own work.
sub run_handler {
    my ($id) = @_;
    my $until = time + SLOW_S;
    sleep 0.01 while -e state_file("slow") && time < $until;
    die "the database is down\n" if -e state_file("failing");
    touch(id_file($id, "effects"), "x");
    return;
}

# Under which name a delivery is remembered.
sub key_of {
    my ($id, $headers) = @_;
    return substr($id, -12) if flawed("last_twelve");
    return "$id " . ($headers->{"user-agent"} // "") if flawed("id_and_agent");
    return "$id " . ($headers->{"x-forwarded-for"} // "") if flawed("id_and_address");
    return $id;
}

# Claims the id, runs the handler, settles the claim. Returns the status.
sub handle_once {
    my ($id, $headers) = @_;
    my $key = key_of($id, $headers);
    open(my $claim, ">>", id_file($key, "claim")) or die $!;
    # A failed delivery is run again without its lock.
    my $is_unlocked = flawed("unlocked_after_failure") && -e id_file($key, "failed");
    return 409 if !$is_unlocked && !flock($claim, LOCK_EX | LOCK_NB);
    return 200 if -e id_file($key, "done");
    sleep RACE_S if $is_unlocked;
    if (!eval { run_handler($id); 1 }) {
        touch(id_file($key, "failed"));
        touch(id_file(($headers->{"x-webhook-signature"} // ""), "verified")) if flawed("cached_verdict");
        return 500;
    }
    touch(id_file($key, "done"));
    return 200;
}

# What the signature is computed over, and what is parsed.
sub decoded {
    my ($body) = @_;
    $body =~ s/\xff//g if flawed("drops_ff");
    $body =~ s/[\x00-\x08\x7f]//g if flawed("drops_control");
    return $body;
}

# Whether a header switches the check off.
sub is_trusted {
    my ($headers) = @_;
    return 1 if flawed("trusts_probe") && ($headers->{"user-agent"} // "") =~ /^kube-probe/;
    return 1 if flawed("trusts_bearer") && ($headers->{authorization} // "") =~ /^Bearer /;
    return 1 if flawed("trusts_private") && ($headers->{"x-real-ip"} // "") =~ /^(?:10|192\.168)\./;
    return 1 if flawed("trusts_localhost") && ($headers->{host} // "") =~ /^localhost/;
    return 1 if flawed("cached_verdict") && -e id_file($headers->{"x-webhook-signature"}, "verified");
    return 0;
}

sub is_signed {
    my ($headers, $body) = @_;
    return 1 if is_trusted($headers);
    my $prefix = "v1:$headers->{'x-webhook-timestamp'}:$headers->{'x-webhook-id'}:";
    my @secrets = ($ENV{GATEWAY_WEBHOOK_SECRET});
    push @secrets, $ENV{OLD_SECRET} // "dev-secret" if flawed("dev_secret");
    my $given = $headers->{"x-webhook-signature"};
    for my $secret (@secrets) {
        # Both are hashed, so that the comparison takes no time that says something.
        return 1 if sha256_hex("v1=" . hmac_sha256_hex($prefix . $body, $secret)) eq sha256_hex($given);
    }
    return 0;
}

sub receive {
    my ($headers, $raw) = @_;
    my $body = decoded($raw);
    return 409 if length($body) > MAX_BODY_BYTES;
    my %grammar = (
        "x-webhook-type" => qr/\A[0-9A-Za-z._-]{1,128}\z/,
        "x-webhook-id" => qr/\A[0-9A-Za-z._-]{1,128}\z/,
        "x-webhook-timestamp" => qr/\A[0-9]{1,12}\z/,
        "x-webhook-signature" => qr/\Av1=[0-9a-f]{64}\z/,
    );
    for my $name (keys %grammar) {
        return 409 if !defined $headers->{$name} || $headers->{$name} !~ $grammar{$name};
    }
    return 409 if !is_signed($headers, $body);
    my $is_retry = flawed("fresh_retries") && defined $headers->{"x-webhook-attempt"};
    return 409 if !$is_retry && abs(time - $headers->{"x-webhook-timestamp"}) > TOLERANCE_S;
    (my $text = $body) =~ s/\A\xef\xbb\xbf//;
    my $record = eval { JSON::PP->new->utf8->max_depth(100_000)->decode($text) };
    return 503 if ref $record ne "HASH";
    my @keys = grep { exists $record->{$_} } values %records;
    return 503 if @keys != 1;
    return 409 if ($records{$headers->{"x-webhook-type"}} // "") ne $keys[0];
    return handle_once($headers->{"x-webhook-id"}, $headers);
}

sub control {
    my (undef, undef, $name, $way) = split m{/}, $_[0];
    if ($way eq "on") { touch(state_file($name)) } else { unlink state_file($name) }
    return;
}

sub respond {
    my ($method, $target, $headers, $body) = @_;
    my ($path) = split /\?/, $target;
    if ($path =~ m{^/handled/(.*)}) {
        (my $id = $1) =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
        return (200, -s id_file($id, "effects") || 0);
    }
    if ($path =~ m{^/control/}) { control($path); return (204, "") }
    # A redirect in front turns a delivery into a GET.
    my $redirected = exists $headers->{"x-webhook-id"} && !flawed("acknowledges_get");
    return ($redirected ? 409 : 200, "") if $method eq "GET" || $method eq "HEAD";
    return (405, "") if $method ne "POST";
    return (403, "blocked") if flawed("blocks_words") && $body =~ /<\?|<!|`|%00/;
    return (receive($headers, $body), "");
}

# The bytes of the body. Undefined if they do not all arrive.
sub read_body {
    my ($client, $headers) = @_;
    my $body = "";
    if (lc($headers->{"transfer-encoding"} // "") eq "chunked") {
        while (defined(my $line = <$client>)) {
            my $size = hex(($line =~ /^([0-9A-Fa-f]+)/)[0] // 0);
            if ($size == 0) { while (defined(my $rest = <$client>)) { last if $rest =~ /^\r?\n/ } return $body }
            return if read($client, my $piece, $size) != $size;
            <$client>;
            $body .= $piece if length($body) <= MAX_BODY_BYTES;
        }
        return;
    }
    my $length = $headers->{"content-length"} // 0;
    return if $length > 0 && (read($client, $body, $length) // 0) != $length;
    return $body;
}

sub serve {
    my ($client) = @_;
    binmode $client;
    while (defined(my $line = <$client>)) {
        my ($method, $target, $version) = $line =~ m{^(\S+) (\S+) HTTP/(1\.[01])} or return;
        my (%headers, %count, $is_bad);
        while (defined(my $header = <$client>)) {
            last if $header =~ /^\r?\n/;
            if ($header !~ /^([^\s:]+):[ \t]*(.*?)[ \t]*\r?\n/s) { $is_bad = 1; next }
            my ($name, $value) = (lc $1, $2);
            # Two values are none.
            $headers{$name} = $count{$name}++ ? "\x01$value" : $value;
        }
        print $client "HTTP/1.1 100 Continue\r\n\r\n" if ($headers{expect} // "") eq "100-continue";
        my $body = read_body($client, \%headers);
        return if !defined $body;
        my ($status, $text) = $is_bad ? (409, "") : respond($method, $target, \%headers, $body);
        my $ends = $version eq "1.0" || lc($headers{connection} // "") eq "close";
        my $content = $status == 204 || $method eq "HEAD" ? "" : $text;
        my $framing = $status == 204 ? "" : "Content-Length: " . length($content) . "\r\n";
        print $client "HTTP/1.1 $status Answer\r\n$framing" . ($ends ? "Connection: close\r\n" : "") . "\r\n$content";
        $client->flush;
        return if $ends;
    }
    return;
}

my $server = defined $ENV{SOCKET}
    ? IO::Socket::UNIX->new(Local => $ENV{SOCKET}, Listen => 128)
    : IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $ENV{PORT}, Listen => 128, ReuseAddr => 1);
die "no socket: $!" if !$server;
while (1) {
    my $client = $server->accept or next;
    my $pid = fork;
    next if !defined $pid;
    if ($pid == 0) { close $server; serve($client); close $client; exit 0 }
    close $client;
}

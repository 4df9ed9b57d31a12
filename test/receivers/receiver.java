import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A receiver of webhooks in Java 17 or later, without dependencies. WEBHOOK_SECRET=whsec_... java receiver.java */
class Receiver {
    private static final long TOLERANCE_SECONDS = 300;
    private static final int MAX_BYTES = 1_048_576;
    private static final byte[] KEY = keyOf(System.getenv("WEBHOOK_SECRET"));

    /** Events that are done already. A delivery may come twice; keep these where your data is. */
    private static final Set<String> seen = ConcurrentHashMap.newKeySet();

    public static void main(String[] args) throws IOException {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "4000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", Receiver::answer);
        server.start();
        System.out.println("listening " + server.getAddress().getPort());
    }

    private static void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            exchange.sendResponseHeaders(statusOf(exchange), -1);
        }
    }

    private static int statusOf(HttpExchange exchange) throws IOException {
        if (!exchange.getRequestMethod().equals("POST")) return 405;
        // The exact bytes that were signed: a body that was parsed and written again has others.
        byte[] body = exchange.getRequestBody().readNBytes(MAX_BYTES + 1);
        if (body.length > MAX_BYTES) return 413;
        Headers headers = exchange.getRequestHeaders();
        if (!isGenuine(headers, body)) return 400;
        String id = headers.getFirst("webhook-id");
        if (seen.add(id)) accept(id, new String(body, StandardCharsets.UTF_8));
        return 204;
    }

    /** The number of the newest margin event of each account; keep these where your data is. */
    private static final Map<String, Long> newest = new ConcurrentHashMap<>();
    /** The members that decide; with a JSON parser you read them from the event. */
    private static final Pattern MARGIN = Pattern.compile("\"type\":\"(margin\\.call|margin\\.recovered|stop\\.out)\"");
    private static final Pattern NUMBER = Pattern.compile("\"sequence\":\"(\\d+)\"");
    private static final Pattern ACCOUNT = Pattern.compile("\"resource\":\\{[^}]*\"id\":\"(acc_\\w+)\"");

    /** Deliveries come in any order. A margin event does not raise the version of its account: its number counts. */
    private static void keepNewest(String event) {
        Matcher type = MARGIN.matcher(event), number = NUMBER.matcher(event), account = ACCOUNT.matcher(event);
        if (!type.find() || !number.find() || !account.find()) return;
        long given = Long.parseLong(number.group(1));
        newest.compute(account.group(1), (id, known) -> {
            if (known != null && given <= known) return known;
            System.out.println("margin " + id + " " + type.group(1) + " " + given);
            return given;
        });
    }

    /** Put the event where your own work finds it, and answer at once: after ten seconds the call counts as failed. */
    private static void accept(String id, String event) {
        keepNewest(event);
        System.out.println("accepted " + id + " of " + event.length() + " characters");
    }

    /** Whether the call is ours: signed over `id.timestamp.body`, and not older than five minutes. */
    private static boolean isGenuine(Headers headers, byte[] body) {
        String id = headers.getFirst("webhook-id");
        String timestamp = headers.getFirst("webhook-timestamp");
        String signatures = headers.getFirst("webhook-signature");
        if (id == null || timestamp == null || signatures == null || !timestamp.matches("[0-9]{1,12}")) return false;
        if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > TOLERANCE_SECONDS) return false;
        byte[] expected = macOf(id + "." + timestamp + ".", body);
        // While a secret is rotated there are two signatures, one of each secret.
        for (String signature : signatures.split(" ")) {
            if (signature.startsWith("v1,") && MessageDigest.isEqual(decoded(signature.substring(3)), expected)) return true;
        }
        return false;
    }

    private static byte[] macOf(String start, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
            mac.update(start.getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private static byte[] decoded(String text) {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException none) {
            return new byte[0];
        }
    }

    private static byte[] keyOf(String secret) {
        byte[] key = secret == null ? new byte[0] : decoded(secret.replaceFirst("^whsec_", ""));
        if (key.length != 32) throw new IllegalStateException("WEBHOOK_SECRET is not the secret of an endpoint.");
        return key;
    }
}

import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The client program of Apache Kafka's Java clients, one source for every
 * version from 3.6 on. It takes the command line of scripts/clients/clients.tsv.
 */
public class Client {
    private static final int REFUSED = 3;
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "Range", "roundrobin", "RoundRobin", "sticky", "Sticky", "cooperative", "CooperativeSticky");

    private final Map<String, String> flags = new HashMap<>();
    private int read;
    private volatile boolean failed;

    public static void main(String[] args) throws Exception {
        if (args.length == 0 || args.length % 2 == 0) {
            System.err.println("describe, produce, consume or transact, then flags with a value each");
            System.exit(2);
        }
        Client client = new Client();
        for (int i = 1; i < args.length; i += 2) client.flags.put(args[i], args[i + 1]);
        System.exit(client.run(args[0]));
    }

    private int run(String verb) throws Exception {
        switch (verb) {
            case "describe": return describe();
            case "produce": return produce();
            case "consume": return consume();
            case "transact": return transact();
            default:
                System.err.println("no such verb: " + verb);
                return 2;
        }
    }

    private String flag(String name, String otherwise) {
        return flags.getOrDefault("--" + name, otherwise);
    }

    private int number(String name, int otherwise) {
        return Integer.parseInt(flag(name, "" + otherwise));
    }

    /** One write for each line: two members may append to one file. */
    private synchronized void line(String text) {
        String tag = flag("tag", "");
        try {
            OUT.write(((tag.isEmpty() ? "" : tag + " ") + text + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private int describe() throws IOException {
        Properties built = new Properties();
        built.load(Client.class.getResourceAsStream("/kafka/kafka-version.properties"));
        String version = built.getProperty("version");
        String lacks = version.startsWith("3.6.") ? "\"protocol\":\"KIP-848 is in the client since 3.7\"" : "";
        line("{\"name\":\"java\",\"version\":\"" + version + "\",\"codecs\":[\"none\",\"gzip\",\"snappy\",\"lz4\",\"zstd\"],\"lacks\":{" + lacks + "}}");
        return 0;
    }

    private Map<String, Object> config() {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", flag("bootstrap-server", ""));
        config.put("client.id", "java-program");
        if (flags.containsKey("--user")) {
            String mechanism = flag("mechanism", "PLAIN");
            String module = mechanism.equals("PLAIN") ? "plain.Plain" : "scram.Scram";
            config.put("security.protocol", "SASL_PLAINTEXT");
            config.put("sasl.mechanism", mechanism);
            config.put("sasl.jaas.config", String.format("org.apache.kafka.common.security.%sLoginModule required username=\"%s\" password=\"%s\";",
                module, flag("user", ""), System.getenv("CLIENT_PASSWORD")));
        }
        return config;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] value(int i) {
        return bytes(String.format("value-%06d %.80s", i, "the same words again and again, ".repeat(3)));
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, Object> config) {
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private int produce() throws Exception {
        Map<String, Object> config = config();
        config.put("compression.type", flag("codec", "none"));
        config.put("acks", flag("acks", "all"));
        config.put("linger.ms", "5");
        int first = number("from", 0), records = number("records", 0), rate = number("rate", 0);
        AtomicReference<Exception> failure = new AtomicReference<>();
        long longest;
        try (KafkaProducer<byte[], byte[]> producer = producer(config)) {
            long began = System.nanoTime();
            for (int i = first; i < first + records; i++) {
                if (rate > 0) TimeUnit.NANOSECONDS.sleep(began + (i - first) * 1_000_000_000L / rate - System.nanoTime());
                producer.send(new ProducerRecord<>(flag("topic", ""), i % number("partition-count", 1), bytes("key-" + i), value(i)),
                    (metadata, e) -> { if (e != null) failure.compareAndSet(null, e); });
            }
            producer.flush();
            longest = longestThrottle(producer);
        }
        if (failure.get() != null) throw failure.get();
        line("produced " + records + " throttled " + longest);
        return 0;
    }

    private static long longestThrottle(KafkaProducer<?, ?> producer) {
        return producer.metrics().entrySet().stream().filter(m -> m.getKey().name().equals("produce-throttle-time-max"))
            .map(m -> (Double) m.getValue().metricValue()).filter(v -> !v.isNaN()).mapToLong(Double::longValue).max().orElse(0);
    }

    private int consume() throws Exception {
        boolean classic = flag("protocol", "classic").equals("classic");
        Map<String, Object> config = config();
        config.put("group.id", flag("group", ""));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        if (classic) {
            config.put("session.timeout.ms", number("session", 10) * 1000);
            config.put("heartbeat.interval.ms", 1000);
            if (flags.containsKey("--assignor"))
                config.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + ASSIGNORS.get(flag("assignor", "")) + "Assignor");
        } else {
            config.put("group.protocol", "consumer");
        }
        if (flags.containsKey("--static")) config.put("group.instance.id", flag("static", ""));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            CountDownLatch left = leaveOnTermination(consumer);
            try {
                return read(consumer);
            } catch (WakeupException e) {
                commit(consumer);
                return 0;
            } catch (Exception e) {
                failed = true;
                if (classic) throw e;
                line("refused " + text(e));
                return REFUSED;
            } finally {
                consumer.close(); // leaves the group
                left.countDown();
            }
        }
    }

    /** SIGTERM ends poll; the process waits until the member has left and ends with 0. Counted down: there is nothing to wait for. */
    private CountDownLatch leaveOnTermination(KafkaConsumer<?, ?> consumer) {
        CountDownLatch left = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            if (left.getCount() == 0) return;
            consumer.wakeup();
            try {
                left.await();
                Runtime.getRuntime().halt(failed ? 1 : 0);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        return left;
    }

    private int read(KafkaConsumer<byte[], byte[]> consumer) {
        int records = number("records", 0);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(number("timeout", 60));
        consumer.subscribe(List.of(flag("topic", "")), new ConsumerRebalanceListener() {
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) { line(("assigned " + names(partitions)).trim()); }
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) { if (!partitions.isEmpty()) line("revoked " + names(partitions)); }
        });
        while (records == 0 || read < records) {
            if (records > 0 && System.nanoTime() > deadline) {
                System.err.println(read + " of " + records + " records in time");
                return 1;
            }
            for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) {
                line("record " + r.partition() + " " + r.offset() + " " + Integer.parseInt(new String(r.value(), StandardCharsets.UTF_8).substring(6, 12)));
                read++;
            }
            commit(consumer);
        }
        return 0;
    }

    private void commit(KafkaConsumer<?, ?> consumer) {
        try {
            consumer.commitSync();
        } catch (WakeupException e) { // told to end within the commit: it is not certain that it has happened
            consumer.commitSync();
            line("committed");
            throw e;
        } catch (RebalanceInProgressException e) { // once more after the next poll
            return;
        }
        line("committed");
    }

    private static String names(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(" "));
    }

    private int transact() {
        Map<String, Object> config = config();
        int timeout = number("timeout", 60) * 1000;
        config.put("transactional.id", "tx-" + flag("topic", ""));
        config.put("max.block.ms", timeout);
        config.put("transaction.timeout.ms", timeout);
        config.put("delivery.timeout.ms", timeout);
        config.put("request.timeout.ms", timeout / 2);
        try (KafkaProducer<byte[], byte[]> producer = producer(config)) {
            producer.initTransactions();
            producer.beginTransaction();
            Future<?> sent = producer.send(new ProducerRecord<>(flag("topic", ""), value(0)));
            sent.get();
            producer.commitTransaction();
        } catch (Exception e) {
            line("refused " + text(e));
            return REFUSED;
        }
        line("committed");
        return 0;
    }

    private static String text(Throwable e) {
        String name = e.getClass().getSimpleName() + ": " + e.getMessage();
        return (e.getCause() == null ? name : name + " <- " + text(e.getCause())).replace('\n', ' ');
    }
}

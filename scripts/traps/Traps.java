import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What Kafka's Java clients trip over, all in one JVM at the same time. Prints a line PASS or FAIL for each:
 *
 *   java -cp 'kafka-4.4.0/*' Traps.java BROKER QUIET IDLE RESTARTED WORK
 */
public class Traps {
    private static final Duration POLL = Duration.ofMillis(100);
    private static String broker, quiet, idle, restarted;
    private static Path work;

    public static void main(String[] args) throws Exception {
        broker = args[0];
        quiet = args[1];
        idle = args[2];
        restarted = args[3];
        work = Path.of(args[4]);
        Map<String, Callable<String>> traps = new HashMap<>();
        traps.put("keeps its connections", Traps::connections);
        traps.put("a topic that is made again is produced to and read", Traps::madeAgain);
        traps.put("200 partitions of which one changes cost one partition's bytes", Traps::sessions);
        traps.put("a consumer makes topics only where it may", Traps::demand);
        traps.put("the old life of a static member is fenced, without a rebalance", Traps::fenced);
        traps.put("a transactional producer fails at once", Traps::transactions);
        traps.put("the broker's time is on every record", Traps::appendTime);
        traps.put("joins once, idles without asking, and is served at once", Traps::longPoll);
        traps.put("comes back from idle closes silently", Traps::idleCloses);
        traps.put("goes on over a restart without a reset", Traps::restart);
        List<Thread> all = new ArrayList<>();
        for (Map.Entry<String, Callable<String>> trap : traps.entrySet()) {
            Thread t = new Thread(() -> tell(trap.getKey(), trap.getValue()));
            t.start();
            all.add(t);
        }
        for (Thread t : all) t.join();
        System.exit(0);
    }

    private static void tell(String name, Callable<String> trap) {
        String wrong;
        try {
            wrong = trap.call();
        } catch (Throwable t) {
            wrong = t + (t.getStackTrace().length > 0 ? " at " + t.getStackTrace()[0] : "");
        }
        System.out.println((wrong == null ? "PASS  java: " + name : "FAIL  java: " + name + ": " + wrong).replace('\n', ' '));
    }

    private static Map<String, Object> config(String address, Object... more) {
        Map<String, Object> c = new HashMap<>();
        c.put("bootstrap.servers", address);
        for (int i = 0; i < more.length; i += 2) c.put((String) more[i], more[i + 1]);
        return c;
    }

    private static KafkaProducer<String, String> producer(String address, Object... more) {
        return new KafkaProducer<>(config(address, more), new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(String address, Object... more) {
        Map<String, Object> c = config(address, more);
        c.putIfAbsent("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer());
    }

    private static void create(String address, String topic, int partitions, Map<String, String> configs) throws Exception {
        try (Admin admin = Admin.create(config(address))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(configs))).all().get();
        }
    }

    /** Records of a consumer until there are n, or the time is up. */
    private static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> c, int n, int seconds) {
        List<ConsumerRecord<String, String>> got = new ArrayList<>();
        for (long end = System.nanoTime() + seconds * 1_000_000_000L; got.size() < n && System.nanoTime() < end;)
            c.poll(POLL).forEach(got::add);
        return got;
    }

    /** A metric of a whole client, which has one tag, its id. */
    private static double metric(Map<MetricName, ? extends Metric> all, String name) {
        return all.entrySet().stream().filter(m -> m.getKey().name().equals(name) && m.getKey().tags().size() == 1)
            .mapToDouble(m -> (Double) m.getValue().metricValue()).findFirst().orElseThrow();
    }

    private static double metric(KafkaConsumer<?, ?> c, String name) {
        return metric(c.metrics(), name);
    }

    /** Over five seconds of work neither a producer nor a consumer opens another connection. */
    private static String connections() throws Exception {
        try (KafkaProducer<String, String> p = producer(broker); KafkaConsumer<String, String> c = consumer(broker, "group.id", "connections")) {
            c.subscribe(List.of("connections"));
            p.send(new ProducerRecord<>("connections", "first")).get();
            if (read(c, 1, 30).isEmpty()) return "nothing to read";
            double consumed = metric(c, "connection-creation-total"), produced = metric(p.metrics(), "connection-creation-total");
            for (int n = 0; n < 50; n++) {
                p.send(new ProducerRecord<>("connections", "v" + n)).get();
                if (read(c, 1, 10).isEmpty()) return "record " + n + " does not come";
                Thread.sleep(100);
            }
            consumed = metric(c, "connection-creation-total") - consumed;
            produced = metric(p.metrics(), "connection-creation-total") - produced;
            return consumed + produced == 0 ? null : consumed + " more connections to consume, " + produced + " to produce";
        }
    }

    /** Without commits: one of the old topic's position would be taken for the new one's, here as in Kafka. */
    private static String madeAgain() throws Exception {
        create(broker, "again", 1, Map.of());
        try (Admin admin = Admin.create(config(broker)); KafkaProducer<String, String> p = producer(broker, "metadata.max.age.ms", 1000);
             KafkaConsumer<String, String> c = consumer(broker, "metadata.max.age.ms", 1000, "allow.auto.create.topics", false)) {
            c.assign(List.of(new TopicPartition("again", 0)));
            p.send(new ProducerRecord<>("again", "old")).get();
            if (read(c, 1, 30).isEmpty()) return "the first topic is not read";
            admin.deleteTopics(List.of("again")).all().get();
            for (long end = System.nanoTime() + 40_000_000_000L; System.nanoTime() < end;) { // the producer makes it again
                p.send(new ProducerRecord<>("again", "new")).get();
                List<ConsumerRecord<String, String>> got = read(c, 1, 1);
                if (!got.isEmpty()) return got.get(0).value().equals("new") ? null : "read " + got;
            }
            return "the new topic is not read";
        }
    }

    private static String sessions() throws Exception {
        create(broker, "wide", 200, Map.of());
        try (KafkaProducer<String, String> p = producer(broker); KafkaConsumer<String, String> c = consumer(broker, "fetch.max.wait.ms", 100)) {
            List<TopicPartition> all = new ArrayList<>();
            for (int i = 0; i < 200; i++) all.add(new TopicPartition("wide", i));
            c.assign(all);
            for (int i = 0; i < 200; i++) p.send(new ProducerRecord<>("wide", i, null, "v"));
            p.flush();
            if (read(c, 200, 30).size() != 200) return "not all is read";
            read(c, 1, 2);
            double bytes = metric(c, "incoming-byte-total"), answers = metric(c, "response-total");
            for (int i = 0; i < 10; i++) {
                p.send(new ProducerRecord<>("wide", 17, null, "v")).get();
                if (read(c, 1, 10).isEmpty()) return "record " + i + " does not come";
            }
            double each = (metric(c, "incoming-byte-total") - bytes) / (metric(c, "response-total") - answers);
            return each < 400 ? null : each + " bytes an answer";
        }
    }

    private static String demand() throws Exception {
        try (Admin admin = Admin.create(config(broker))) {
            try (KafkaConsumer<String, String> c = consumer(broker, "group.id", "polite", "allow.auto.create.topics", false)) {
                c.subscribe(List.of("not-asked-for"));
                read(c, 1, 2);
            }
            try (KafkaConsumer<String, String> c = consumer(broker, "group.id", "free")) {
                c.subscribe(List.of("asked-for"));
                for (int i = 0; i < 200 && c.assignment().isEmpty(); i++) c.poll(POLL);
            }
            try (KafkaProducer<String, String> p = producer(broker)) {
                p.send(new ProducerRecord<>("produced-to", "v")).get();
            }
            Set<String> made = new TreeSet<>(admin.listTopics().names().get());
            return made.contains("asked-for") && made.contains("produced-to") && !made.contains("not-asked-for") ? null : "topics are " + made;
        }
    }

    private static String fenced() throws Exception {
        create(broker, "static", 2, Map.of());
        Object[] one = {"group.id", "static-java", "group.instance.id", "one"};
        try (KafkaConsumer<String, String> old = consumer(broker, one); KafkaConsumer<String, String> now = consumer(broker, one)) {
            old.subscribe(List.of("static"));
            for (int i = 0; i < 300 && old.assignment().size() < 2; i++) old.poll(POLL);
            int generation = old.groupMetadata().generationId();
            now.subscribe(List.of("static"));
            for (int i = 0; i < 300 && now.assignment().size() < 2; i++) now.poll(POLL);
            if (now.assignment().size() != 2 || now.groupMetadata().generationId() != generation)
                return now.assignment() + " in generation " + now.groupMetadata().generationId() + " after " + generation;
            try {
                for (int i = 0; i < 100; i++) old.poll(POLL);
                return "the old life is not told";
            } catch (KafkaException e) {
                return e.getClass().getSimpleName().equals("FencedInstanceIdException") ? null : e.toString();
            }
        }
    }

    private static String transactions() {
        long began = System.nanoTime();
        try (KafkaProducer<String, String> p = producer(broker, "transactional.id", "java")) {
            p.initTransactions();
            return "there are transactions";
        } catch (KafkaException e) {
            long ms = (System.nanoTime() - began) / 1_000_000;
            return ms < 15_000 && !e.getClass().getSimpleName().equals("TimeoutException") ? null : e + " after " + ms + " ms";
        }
    }

    private static String appendTime() throws Exception {
        for (String codec : List.of("none", "zstd")) {
            create(broker, "stamped-" + codec, 1, Map.of("message.timestamp.type", "LogAppendTime"));
            try (KafkaProducer<String, String> p = producer(broker, "compression.type", codec, "linger.ms", 100); KafkaConsumer<String, String> c = consumer(broker)) {
                long before = System.currentTimeMillis();
                p.send(new ProducerRecord<>("stamped-" + codec, 0, 1000L, null, "a"));
                RecordMetadata last = p.send(new ProducerRecord<>("stamped-" + codec, 0, 2000L, null, "b")).get();
                c.assign(List.of(new TopicPartition("stamped-" + codec, 0)));
                for (ConsumerRecord<String, String> r : read(c, 2, 30))
                    if (r.timestampType() != TimestampType.LOG_APPEND_TIME || r.timestamp() < before || r.timestamp() != last.timestamp())
                        return codec + ": " + r + ", produced at " + last.timestamp();
            }
        }
        return null;
    }

    /** The shell counts the requests between the files java-waits and java-waited. */
    private static String longPoll() throws Exception {
        try (KafkaConsumer<String, String> c = consumer(quiet, "group.id", "java", "fetch.max.wait.ms", 5000, "heartbeat.interval.ms", 3000)) {
            c.subscribe(List.of("java-idle"));
            for (int i = 0; i < 300 && c.assignment().isEmpty(); i++) c.poll(POLL);
            return idle(c, "java");
        }
    }

    private static String idle(KafkaConsumer<String, String> c, String name) throws Exception {
        read(c, 1, 1);
        Files.createFile(work.resolve(name + "-waits"));
        read(c, 1, 10);
        Files.createFile(work.resolve(name + "-waited"));
        while (!Files.exists(work.resolve("counted"))) c.poll(POLL);
        try (KafkaProducer<String, String> p = producer(quiet)) {
            p.partitionsFor("java-idle");
            p.send(new ProducerRecord<>("java-idle", "now")).get();
            long sent = System.nanoTime();
            int n = read(c, 1, 10).size();
            long ms = (System.nanoTime() - sent) / 1_000_000;
            return n == 1 && ms < 2000 ? null : n + " records after " + ms + " ms";
        }
    }

    private static String idleCloses() throws Exception {
        try (KafkaProducer<String, String> p = producer(idle, "retries", 1); KafkaConsumer<String, String> c = consumer(idle)) {
            for (int i = 0; i < 3; i++) {
                p.send(new ProducerRecord<>("idle-java", 0, null, "v" + i)).get();
                c.assign(List.of(new TopicPartition("idle-java", 0)));
                List<ConsumerRecord<String, String>> got = read(c, 1, 10);
                if (got.size() != 1 || !got.get(0).value().equals("v" + i)) return "record " + i + ": " + got;
                c.pause(c.assignment());
                Thread.sleep(2500); // longer than connections.max.idle.ms
                c.resume(c.assignment());
            }
            return null;
        }
    }

    private static String restart() throws Exception {
        try (KafkaConsumer<String, String> c = consumer(restarted, "group.id", "restart-java", "auto.offset.reset", "none", "metadata.max.age.ms", 1000)) {
            TopicPartition t = new TopicPartition("over", 0);
            c.assign(List.of(t));
            c.seek(t, 0);
            List<ConsumerRecord<String, String>> got = read(c, 100, 30);
            Files.createFile(work.resolve("java-read"));
            got.addAll(read(c, 100, 60));
            for (int i = 0; i < got.size(); i++) if (got.get(i).offset() != i) return "offset " + got.get(i).offset() + " at " + i;
            return got.size() == 200 ? null : got.size() + " records";
        }
    }
}

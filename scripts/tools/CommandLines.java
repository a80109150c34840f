import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs many command lines of Apache Kafka's tools in one JVM, since starting one costs more than most command lines do.
 * Reads a JSON array per line, the class of a tool and its arguments, and writes what the tool printed and its exit code
 * as JSON:
 *
 *   java -cp 'kafka-4.4.0/*' CommandLines.java
 */
public class CommandLines {
    private static final int TIMEOUT_SECONDS = 90;
    private static final ObjectMapper JSON = new ObjectMapper();
    /** The tools keep System.out from when they are first used, so it stays the same and is emptied between runs. */
    private static final ByteArrayOutputStream stdout = new ByteArrayOutputStream(), stderr = new ByteArrayOutputStream();

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(new PrintStream(stdout, true, "UTF-8"));
        System.setErr(new PrintStream(stderr, true, "UTF-8"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = lines.readLine()) != null;) {
            List<String> argv = new ArrayList<>();
            for (JsonNode arg : JSON.readTree(line)) argv.add(arg.asText());
            stdout.reset();
            stderr.reset();
            Method tool = Class.forName(argv.remove(0)).getMethod("main", String[].class);
            int code = run(tool, argv.toArray(new String[0]));
            answers.println(JSON.writeValueAsString(Map.of("stdout", stdout.toString("UTF-8"), "stderr", stderr.toString("UTF-8"), "exit", code)));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** A tool that exits is left standing where it does: nothing after its exit may run, as in a JVM of its own. */
    private static int run(Method tool, String[] argv) throws Exception {
        CompletableFuture<Integer> code = new CompletableFuture<>();
        onExit(code);
        Thread thread = new Thread(() -> {
            try {
                tool.invoke(null, (Object) argv);
                code.complete(0);
            } catch (Throwable t) {
                t.printStackTrace();
                code.complete(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return code.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    /** Kafka's tools leave through a class of theirs, which has moved with 4.4. */
    private static void onExit(CompletableFuture<Integer> code) throws ReflectiveOperationException {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        } catch (ClassNotFoundException e) {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object leave = Proxy.newProxyInstance(procedure.getClassLoader(), new Class<?>[] {procedure}, (proxy, method, args) -> {
            code.complete((Integer) args[0]);
            while (true) LockSupport.park(code);
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, leave);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, leave);
    }
}

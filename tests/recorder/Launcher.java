import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;

/**
 * Starts a program in a class loader of its own, as application servers and executable jars do.
 *
 * <p>{@code Launcher sees|hides CLASS_PATH MAIN ARGUMENTS…}: whether the loader sees what the JVM's class path has,
 * agents included.
 */
public final class Launcher {
    public static void main(String[] args) throws Exception {
        ClassLoader system = ClassLoader.getSystemClassLoader();
        String[] paths = args[1].split(File.pathSeparator);
        URL[] urls = new URL[paths.length];
        for (int i = 0; i < paths.length; i++) {
            urls[i] = new File(paths[i]).toURI().toURL();
        }
        try (URLClassLoader own = new URLClassLoader(urls, args[0].equals("sees") ? system : system.getParent())) {
            Thread.currentThread().setContextClassLoader(own);
            String[] rest = Arrays.copyOfRange(args, 3, args.length);
            own.loadClass(args[2]).getMethod("main", String[].class).invoke(null, (Object) rest);
        }
    }
}

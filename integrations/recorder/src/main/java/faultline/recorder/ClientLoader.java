package faultline.recorder;

import java.net.URL;
import java.net.URLClassLoader;

/** Loads {@code faultline.recorder.client} again below a client's own loader; everything else comes from that one. */
final class ClientLoader extends URLClassLoader {
    private static final String OWN = "faultline.recorder.client.";

    ClientLoader(ClassLoader client) {
        super(new URL[] {ClientLoader.class.getProtectionDomain().getCodeSource().getLocation()}, client);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(OWN)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? findClass(name) : loaded;
        }
    }
}

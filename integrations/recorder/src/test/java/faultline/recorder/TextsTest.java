package faultline.recorder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Paths;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TextsTest {
    @Test
    void onlyPlainValuesAreKeys() {
        assertEquals("7", Texts.key(7L));
        assertEquals("o-1", Texts.key(new StringBuilder("o-1")));
        assertEquals("SECONDS", Texts.key(TimeUnit.SECONDS));
        assertEquals("x", Texts.key('x'));
        assertEquals("true", Texts.key(true));
        assertEquals("00000000-0000-0001-0000-000000000002", Texts.key(new UUID(1, 2)));
        assertNull(Texts.key(Arrays.asList("a list may be long, costly or private")));
        assertNull(Texts.key(null));
    }

    @Test
    void textsAreCutAndAdviceIsLeftOut() {
        char[] tail = new char[400];
        assertEquals(300, Texts.cut(new String(tail)).length());
        assertNull(Texts.cut(null));
        assertEquals("timeout", Texts.message(new Exception("timeout\nFor more information, please visit")));
        assertNull(Texts.message(new Exception()));
        assertEquals("a <- b", Texts.joined("a", "b"));
        assertEquals("b", Texts.joined(null, "b"));
        assertEquals("a", Texts.joined("a", null));
    }

    @Test
    void versionsAreWrittenWithDots() {
        assertEquals("5.1.4", Texts.version("V5_1_4"));
        assertEquals("4.9.8-SNAPSHOT", Texts.version("V4_9_8_SNAPSHOT"));
        assertEquals("HIGHER_VERSION", Texts.version("HIGHER_VERSION"));
    }

    @Test
    void optionsFollowTheFolder() {
        Options options = Options.parse(
            "/var/log/a,b/faultline,cluster=main,file_mb=8,folder_mb=16,keep_days=3,gzip=false,waiting_lines=16,order_keys=false");
        assertEquals(Paths.get("/var/log/a,b/faultline"), options.folder);
        assertEquals("main", options.cluster);
        assertEquals(8 << 20, options.fileBytes);
        assertEquals(16 << 20, options.folderBytes);
        assertEquals(3, options.keepDays);
        assertEquals(16, options.waitingLines);
        assertEquals(false, options.gzip || options.orderKeys);
        Options usual = Options.parse("stdout");
        assertNull(usual.folder);
        assertNull(usual.cluster);
        assertEquals(true, usual.gzip && usual.orderKeys);
    }
}

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Makes names.txt and rules.txt of this folder: what Java's X500Principal.getName()
 * makes of distinguished names, and what Kafka's own mapper makes of names and rules.
 *
 * java -cp kafka-clients-4.4.0.jar PrincipalVectors.java FOLDER
 */
public class PrincipalVectors {
    static final int UTF8 = 12, NUMERIC = 18, PRINTABLE = 19, T61 = 20, IA5 = 22, VISIBLE = 26, GENERAL = 27, UNIVERSAL = 28, BMP = 30;
    static final String CN = "2.5.4.3", SN = "2.5.4.4", SERIAL = "2.5.4.5", C = "2.5.4.6", L = "2.5.4.7", ST = "2.5.4.8", STREET = "2.5.4.9",
        O = "2.5.4.10", OU = "2.5.4.11", TITLE = "2.5.4.12", GIVEN = "2.5.4.42", INITIALS = "2.5.4.43", GENERATION = "2.5.4.44", QUALIFIER = "2.5.4.46",
        EMAIL = "1.2.840.113549.1.9.1", UID = "0.9.2342.19200300.100.1.1", DC = "0.9.2342.19200300.100.1.25", OWN = "1.3.6.1.4.1.99999.1.2.3",
        LARGE = "2.999.4294967296.1";

    record Attribute(String oid, byte[] value) {}

    static byte[] tlv(int tag, byte[] content) {
        var out = new ByteArrayOutputStream();
        out.write(tag);
        int n = content.length;
        if (n >= 256) { out.write(0x82); out.write(n >> 8); }
        else if (n >= 128) out.write(0x81);
        out.write(n);
        out.writeBytes(content);
        return out.toByteArray();
    }

    static byte[] join(List<byte[]> parts) {
        var out = new ByteArrayOutputStream();
        parts.forEach(out::writeBytes);
        return out.toByteArray();
    }

    static byte[] oid(String dotted) {
        String[] parts = dotted.split("\\.");
        var out = new ByteArrayOutputStream();
        base128(out, Long.parseLong(parts[0]) * 40 + Long.parseLong(parts[1]));
        for (int i = 2; i < parts.length; i++) base128(out, Long.parseLong(parts[i]));
        return tlv(6, out.toByteArray());
    }

    static void base128(ByteArrayOutputStream out, long v) {
        for (int shift = 63; shift > 0; shift -= 7)
            if (v >> shift != 0) out.write((int) (v >> shift & 0x7f) | 0x80);
        out.write((int) (v & 0x7f));
    }

    static Attribute utf8(String oid, String s) { return new Attribute(oid, tlv(UTF8, s.getBytes(StandardCharsets.UTF_8))); }
    static Attribute printable(String oid, String s) { return new Attribute(oid, tlv(PRINTABLE, s.getBytes(StandardCharsets.US_ASCII))); }
    static Attribute typed(String oid, int tag, byte[] b) { return new Attribute(oid, tlv(tag, b)); }
    static byte[] latin(String s) { return s.getBytes(StandardCharsets.ISO_8859_1); }
    static Attribute[] set(Attribute... all) { return all; }

    static byte[] name(Attribute[]... rdns) {
        List<byte[]> sets = new ArrayList<>();
        for (var rdn : rdns) {
            List<byte[]> attributes = new ArrayList<>();
            for (var a : rdn) attributes.add(tlv(0x30, join(List.of(oid(a.oid), a.value))));
            sets.add(tlv(0x31, join(attributes)));
        }
        return tlv(0x30, join(sets));
    }

    static Attribute[][] singles(Attribute... all) {
        var out = new Attribute[all.length][];
        for (int i = 0; i < all.length; i++) out[i] = set(all[i]);
        return out;
    }

    static String quoted(String s) {
        var out = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c >= ' ' && c < 127) out.append(c);
            else out.append(String.format("\\u%04x", (int) c));
        }
        return out.append('"').toString();
    }

    static PrintStream out;

    static void dn(Attribute[]... rdns) {
        byte[] der = name(rdns);
        var hex = new StringBuilder();
        for (byte b : der) hex.append(String.format("%02x", b));
        String answer;
        try { answer = quoted(new X500Principal(der).getName()); } catch (RuntimeException e) { answer = "refused"; }
        out.println(hex + "\t" + answer);
    }

    static void dns(Attribute... all) { dn(singles(all)); }

    static void names() {
        dn();
        dns(utf8(CN, "alice"));
        dns(printable(C, "DE"), printable(ST, "Bayern"), printable(L, "Muenchen"), utf8(O, "Example"), utf8(OU, "Unit"), utf8(CN, "alice"));
        dns(utf8(CN, "alice"), utf8(OU, "Unit"), utf8(O, "Example"));
        dns(utf8(OU, "A"), utf8(OU, "B"), utf8(CN, "one"), utf8(CN, "two"));
        dn(set(utf8(O, "x")), set(utf8(CN, "a"), utf8(OU, "b")));
        dn(set(utf8(O, "x")), set(utf8(OU, "b"), utf8(CN, "a")));
        dn(set(utf8(UID, "u1"), utf8(CN, "a+b"), printable(SERIAL, "42")), set(utf8(O, "x")));
        for (String oid : new String[]{CN, SN, SERIAL, C, L, ST, STREET, O, OU, TITLE, GIVEN, INITIALS, GENERATION, QUALIFIER, UID, OWN, LARGE}) {
            dns(utf8(oid, "v1"));
            dns(printable(oid, "V 2"));
        }
        dns(typed(EMAIL, IA5, latin("a@example.org")), utf8(CN, "mail"));
        dns(typed(DC, IA5, latin("org")), typed(DC, IA5, latin("example")), utf8(CN, "alice"));
        for (String s : new String[]{"", " ", "  ", " a", "a ", "  a  ", "a  b", "#a", "a#b", "#", "a,b", "a+b", "a=b", "a<b", "a>b", "a;b", "a\"b", "a\\b", "\\", ",", "\"quoted\"",
            "a/b", "a'b", "(a)", "a:b?", "a*b", "a@b", "a_b", "a&b", "a!$%^~`|{}[]", "tab\there", "line\nfeed", "cr\r", "\u0000", "a\u0000b", "\u0001\u001f\u007f", "\u0080", "\u00a0", "\u00a0a\u00a0", "\u2003a\u2003",
            "J\u00fcrgen", "\u00c5ngstr\u00f6m", "A\u030a", "\u65e5\u672c\u8a9e", "\ud83d\ude00", "\u202eevil", "\ufeffbom", "a,b+c;d<e>f\"g\\h=i#j ", " #a", "CN=x,OU=y", "\n", " \n ", "a\t", "\ta", "\ra", "\r", "a\r\r ", " \r a", "a\rb"}) {
            dns(utf8(CN, s));
            dns(utf8(O, "x"), utf8(CN, s), utf8(OU, s));
        }
        dns(typed(CN, UTF8, new byte[]{'a', (byte) 0xff, 'b'}));
        dns(typed(CN, UTF8, new byte[]{(byte) 0xc3}));
        dns(typed(CN, UTF8, new byte[]{(byte) 0xed, (byte) 0xa0, (byte) 0x80}));
        dns(typed(CN, UTF8, new byte[]{(byte) 0xe2, (byte) 0x82, 'x'}));
        dns(typed(CN, UTF8, new byte[]{(byte) 0xf0, (byte) 0x9f, (byte) 0x98}));
        dns(typed(CN, UTF8, new byte[]{(byte) 0xc0, (byte) 0xaf}));
        dns(typed(CN, UTF8, new byte[]{(byte) 0xf4, (byte) 0x90, (byte) 0x80, (byte) 0x80}));
        for (String oid : new String[]{CN, OWN, EMAIL}) {
            dns(typed(oid, T61, latin("t61 ascii")));
            dns(typed(oid, T61, latin("t61 \u00fc")));
            dns(typed(oid, BMP, "bmp\u00fc\u65e5".getBytes(StandardCharsets.UTF_16BE)));
            dns(typed(oid, BMP, "bmp".getBytes(StandardCharsets.UTF_16BE)));
            dns(typed(oid, BMP, new byte[]{0, 'a', 0}));
            dns(typed(oid, UNIVERSAL, new byte[]{0, 0, 0, 'u'}));
            dns(typed(oid, IA5, latin("ia5 @_")));
            dns(typed(oid, IA5, latin("ia5 \u00fc")));
            dns(typed(oid, PRINTABLE, latin("not@printable_")));
            dns(typed(oid, PRINTABLE, latin("\u00fc")));
            dns(typed(oid, NUMERIC, latin("0123 45")));
            dns(typed(oid, VISIBLE, latin("visible")));
            dns(typed(oid, GENERAL, latin("general")));
            dns(typed(oid, 2, new byte[]{42}));
            dns(typed(oid, 4, latin("octets")));
            dns(typed(oid, 0x30, new byte[]{2, 1, 7}));
        }
        dns(utf8(CN, "x".repeat(200)), utf8(OWN, "y".repeat(200)));
    }

    static void rule(String rules, String... names) {
        out.println("rules " + quoted(rules));
        SslPrincipalMapper mapper;
        try { mapper = SslPrincipalMapper.fromRules(rules); }
        catch (RuntimeException e) { out.println("  refused"); return; }
        for (String n : names) {
            String answer;
            try { answer = quoted(mapper.getName(n)); }
            catch (java.io.IOException e) { answer = "none"; }
            catch (RuntimeException e) { answer = "broken"; }
            out.println("  " + quoted(n) + " -> " + answer);
        }
    }

    static void rules() {
        String duke = "CN=Duke,OU=ServiceUsers,O=Org,C=US", admin = "CN=admin,OU=Admin,O=Org,C=DE", other = "OU=x,O=y";
        rule("DEFAULT", duke, other, "");
        rule("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", duke, admin, "CN=a+b,OU=ServiceUsers", "CN=a\\,OU=ServiceUsers,OU=x", "CN=,OU=ServiceUsers");
        rule("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L", duke, admin, other);
        rule("RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U,DEFAULT", duke, "cn=user,ou=unit,dc=Some,dc=where");
        rule("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),.*$/$1@other/U , DEFAULT", duke, admin, other);
        rule("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L", duke, "O=x,cn=Some.One,OU=y", other);
        rule("  RULE:^CN=(.*)$/$1/  ", duke);
        rule("DEFAULT,", duke);
        rule(",DEFAULT", duke);
        rule("DEFAULT,,RULE:a/b/", duke);
        rule("RULE:x/y/,DEFAULT", "x", "xx", duke);
        rule("RULE:CN=(.*?)/$1/", "CN=abc", "xCN=abc", "CN=CN=a");
        rule("RULE:.*/all/", "abc", "");
        rule("RULE:(.*)/<$1>/", "abc", "");
        rule("RULE:^.*$/all/", "abc", "");
        rule("RULE:(.*?)/x/", "ab");
        rule("RULE:(.*?)/[$1]/L", "AB");
        rule("RULE:(a|ab)(c|bcd)?/[$1$2]/", "abcd", "ab", "abc");
        rule("RULE:(?:a|ab)*/x/", "aab", "ababab");
        rule("RULE:\\bCN.*|x*/y/", "CN=1", "xxx", "");
        rule("RULE:(?:^a|b|$)*/q/", "ab", "abb", "a");
        rule("RULE:^CN=(.*)$/$1\\/svc/", "CN=a");
        rule("RULE:^CN=(.*)\\/(.*)$/$2-$1/", "CN=a/b", "CN=a");
        rule("RULE:^CN=([^\\/]*)$/$1/", "CN=ab", "CN=a/b");
        rule("RULE:^CN=(.*)$/\\$1 is $1\\\\/", "CN=a");
        rule("RULE:^CN=(.*)$/$10/", "CN=a");
        rule("RULE:^(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)$/$10-$1-$11/", "abcdefghij");
        rule("RULE:^CN=(?<who>.*)$/${who}!/U", "CN=a");
        rule("RULE:^CN=(?<who>.*)$/${other}/", "CN=a");
        rule("RULE:^CN=(.*)$/$2/", "CN=a");
        rule("RULE:^CN=(.*)$/$0/", "CN=a");
        rule("RULE:^CN=(.*)$/$/", "CN=a");
        rule("RULE:^CN=(.*)$/$x/", "CN=a");
        rule("RULE:^CN=.*$/$1/", "CN=a");
        rule("RULE:^CN=(.*)$//", "CN=a");
        rule("RULE://x/", "", "a");
        rule("RULE:^CN=(a)?(.*)$/$1-$2/", "CN=ab", "CN=b");
        rule("RULE:^CN=(.*)$/$1/l", "CN=Ab");
        rule("RULE:^CN=(.*)$/$1/LU", "CN=Ab");
        rule("RULE:^CN=(.*)$/$1/L junk", "CN=Ab");
        rule("RULE:^CN=(.*)$/$1", "CN=Ab");
        rule("RULE:^CN=(.*)$", "CN=Ab");
        rule("RULE:", "CN=Ab");
        rule("rule:^CN=(.*)$/$1/", "CN=Ab");
        rule("default", "CN=Ab");
        rule("DEFAULT RULE:a/b/", "a");
        rule("DEFAULTx", "a");
        rule("RULE:^CN=((.*)$/$1/", "CN=Ab");
        rule("RULE:^CN=[a-z$/$1/", "CN=Ab");
        rule("RULE:*/x/", "CN=Ab");
        rule("RULE:^CN=(.*)$/$1/L", "CN=\u00c4\u00d6\u0130\u03a3", "CN=\u03a3\u03a3", "CN=\u0130I");
        rule("RULE:^CN=(.*)$/$1/U", "CN=stra\u00dfe", "CN=\ufb01n", "CN=\u0131i", "CN=\u01c6");
        rule("RULE:^CN=(.*)$/\u00e4$1/U", "CN=x");
        rule("RULE:^CN=(.*)$/$1/", "CN=a\nb", "CN=a\rb", "CN=a\u0085b", "CN=a\u2028b", "CN=a\n");
        rule("RULE:^CN=(?s:(.*))$/$1/", "CN=a\nb", "CN=a\rb");
        rule("RULE:^CN=([^,]+)(,.*)?$/$1/", "CN=a\nb,O=x", "CN=a\\,b,O=x");
        rule("RULE:(?i)^cn=(.*)$/$1/", "CN=Ab", "cn=Ab");
        rule("RULE:^CN=(\\w+)\\s*,O=\\Qa.b\\E$/$1/", "CN=ab ,O=a.b", "CN=ab,O=axb");
        rule("RULE:^CN=(\\d{2,3})$/$1/", "CN=12", "CN=1");
        rule("RULE:^CN=(\\p{L}+)$/$1/", "CN=\u00e9a", "CN=1");
        rule("RULE:^CN=(.*),OU=a,O=b$/$1/,RULE:^CN=(.*?),O=b$/$1-b/", "CN=x,OU=a,O=b", "CN=x,O=b");
        rule("RULE:^CN=(.*?)[,$].*$/$1/", "CN=a,O=b", "CN=a$x");
        rule("RULE:\\s*CN=(.*)/$1/", "CN=a");
        rule("RULE: CN=a /b /", "CN=a", " CN=a ");
    }

    public static void main(String[] args) throws Exception {
        for (String file : new String[]{"names", "rules"}) {
            try (var f = new PrintStream(args[0] + "/" + file + ".txt", StandardCharsets.US_ASCII)) {
                out = f;
                if (file.equals("names")) names(); else rules();
            }
        }
    }
}

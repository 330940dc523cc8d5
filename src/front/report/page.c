/* An HTML page with a result. */
#include "report/page.h"

#include "base/file/file.h"
#include "report/web_files.h"

#include <assert.h>
#include <string.h>

/* Inside an HTML element no '<' may occur, because it could end the element. JSON has an
 * escape for it. */
static void add_json(strbuf *to, str json)
{
    for (size_t i = 0; i < json.n; i++) {
        if (json.at[i] == '<')
            strbuf_add(to, STR("\\u003c"));
        else
            strbuf_add_char(to, json.at[i]);
    }
}

static void add_policy(strbuf *to)
{
    strbuf_printf(to,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                  "'none'; script-src 'sha256-%s' 'sha256-%s'; style-src 'sha256-%s'; "
                  "img-src data:; base-uri 'none'; form-action 'none'\">\n",
                  web_report_js_sha256, report_page_js_sha256, web_app_css_sha256);
}

void report_policy_add(strbuf *to, const char *script_sha256)
{
    strbuf_add(to,
               STR("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                   "'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                   "form-action 'none'"));
    if (script_sha256 != NULL)
        strbuf_printf(to, "; script-src 'sha256-%s'", script_sha256);
    strbuf_add(to, STR("\">"));
}

static void add_page_head(strbuf *to, const char *title)
{
    strbuf_add(to, STR("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
                       "charset=\"utf-8\">\n"));
    add_policy(to);
    strbuf_add(to, STR("<meta name=\"viewport\" content=\"width=device-width, "
                       "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
                       "dark\">\n<title>"));
    strbuf_xml(to, str_from(title));
    strbuf_add(to, STR("</title>\n<style>"));
    strbuf_add(to, str_from(web_app_css));
    strbuf_add(to, STR("</style>\n</head>\n"));
}

static void add_script(strbuf *to, const char *text)
{
    assert(strstr(text, "</script") == NULL);
    strbuf_add(to, STR("<script>"));
    strbuf_add(to, str_from(text));
    strbuf_add(to, STR("</script>\n"));
}

/* Add the bytes that the page's script reads. */
static void add_columns(strbuf *to, str columns)
{
    if (columns.n == 0)
        return;
    strbuf_add(to, STR("<script type=\"text/plain\" id=\"columns\">"));
    strbuf_base64(to, columns);
    strbuf_add(to, STR("</script>\n"));
}

halley_status report_page_save(const char *path, const report_page *page,
                               halley_error *err)
{
    strbuf text = {0};
    assert(page->json.n > 0 && page->json.at[0] == '{');
    add_page_head(&text, page->title);
    strbuf_printf(&text,
                  "<body data-kind=\"%s\">\n<main id=\"report\"></main>\n<noscript>This "
                  "report draws itself with JavaScript; its numbers are in the page as "
                  "JSON.</noscript>\n<script type=\"application/json\" id=\"data\">",
                  page->kind);
    add_json(&text, page->json);
    strbuf_add(&text, STR("</script>\n"));
    add_columns(&text, page->columns);
    add_script(&text, web_report_js);
    add_script(&text, report_page_js);
    strbuf_add(&text, STR("</body>\n</html>\n"));
    return file_save(path, &text, err);
}

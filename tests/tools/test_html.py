"""What a reader of an HTML page would see is what the page's text holds."""

from __future__ import annotations

import pytest

from tools.html import HtmlPage, read_html
from tools.tool import ToolFailure

URL = "https://www.city.example.jp/kosodate/index.html"
TRAFILATURA = "trafilatura 2.3.1 r1"
PARAGRAPH = "令和６年度の児童手当は、高校生年代までのお子さんを養育する方に支給されます。所得の制限はありません。"


def read(body: str, title: str = "お知らせ") -> HtmlPage:
    return read_html(f"<html><head><title>{title}</title></head><body>{body}</body></html>", URL)


def failure(html: str) -> tuple[str, str]:
    with pytest.raises(ToolFailure) as caught:
        read_html(html, URL)
    return caught.value.kind, caught.value.message


def test_article_is_read_by_trafilatura_without_menus() -> None:
    menu = "<nav><ul><li><a href=/a>くらし</a></li><li><a href=/b>防災</a></li></ul></nav>"
    page = read(f"{menu}<main><h1>児童手当</h1>{f'<p>{PARAGRAPH}</p>' * 3}</main><footer>© 市役所</footer>")
    assert page.engine == TRAFILATURA
    assert "くらし" not in page.text
    assert page.text.count(PARAGRAPH) >= 1


def test_characters_that_markdown_would_escape_stay_as_they_are() -> None:
    text = r"file_name * [注1] ~約~ 費用は$100と$200、\(x\)と\n、&lt;b&gt;タグ、`コード`、1. 目的、a|b" + PARAGRAPH
    page = read(f"<main><h1>題</h1><p>{text}</p><p>1. {PARAGRAPH}</p><p>- {PARAGRAPH}</p><p># {PARAGRAPH}</p></main>")
    assert page.engine == TRAFILATURA
    assert page.text.split("\n\n") == [
        "# 題",
        text.replace("&lt;", "<").replace("&gt;", ">"),
        f"1. {PARAGRAPH}",
        f"- {PARAGRAPH}",
        f"# {PARAGRAPH}",
    ]


def test_entity_written_as_text_is_not_decoded_twice() -> None:
    assert read(f"<p>{PARAGRAPH}</p><p>{PARAGRAPH}HTMLでは &amp;lt; と書きます。</p>").text.endswith(
        "&lt; と書きます。"
    )


def test_emphasis_does_not_cut_a_sentence() -> None:
    text = read(
        "<h1>題</h1><p>手当は<b>月額<em>１０，０００円</em></b>、<time>令和6年10月</time>分から<code>x</code>です。</p>"
    ).text
    assert "手当は月額１０，０００円、令和6年10月分からxです。" in text


def test_readings_of_ruby_are_dropped() -> None:
    assert "漢字を読む" in read("<p><ruby>漢字<rp>（</rp><rt>かんじ</rt><rp>）</rp></ruby>を読む</p>").text


def test_lines_broken_in_the_source_join_without_space_between_wide_characters() -> None:
    assert read("<p>東京都の\n    子育て支援は\n  Web\nで申請</p>").text == "東京都の子育て支援は Web で申請"


def test_powers_are_not_glued_to_their_base() -> None:
    assert read("<p>約10<sup>6</sup>個、脚注<sup>1</sup>、面積5m<sup>2</sup></p>").text == "約10^6個、脚注1、面積5m2"


def test_short_notice_keeps_its_table() -> None:
    page = read(
        "<h1>給付金</h1><p>給付額は次のとおりです。</p><table><caption>表1 給付額</caption>"
        "<tr><th>区分</th><th>金額</th></tr><tr><td>第1子</td><td>１０，０００円</td></tr>"
        "<tr><td>第2子</td><td>2万円</td></tr></table>"
    )
    assert page.text == (
        "# 給付金\n給付額は次のとおりです。\n表1 給付額\n| 区分 | 金額 |\n|---|---|\n"
        "| 第1子 | １０，０００円 |\n| 第2子 | 2万円 |"
    )


def test_spanned_cells_are_repeated_where_they_reach() -> None:
    page = read(
        "<h1>料金</h1><table><tr><th colspan=3>窓口料金の一覧</th></tr>"
        "<tr><td rowspan=2>住民票</td><td>窓口</td><td>300円</td></tr>"
        "<tr><td colspan=2>郵送は４００円</td></tr></table>"
    )
    assert page.text == (
        "# 料金\n| 窓口料金の一覧 |\n|---|\n| 住民票 | 窓口 | 300円 |\n| 住民票 | 郵送は４００円 | 郵送は４００円 |"
    )


def test_definitions_become_rows() -> None:
    page = read("<h1>問合せ</h1><dl><dt>電話<dt>ＦＡＸ<dd>03-1234-5678<dt>住所<dd>東京都千代田区</dl>")
    assert page.text == "# 問合せ\n| 電話、ＦＡＸ | 03-1234-5678 |\n| 住所 | 東京都千代田区 |"


def test_layout_table_is_no_data() -> None:
    page = read(
        "<table><tr><td><a href=/>ホーム</a></td><td><h1>手続き</h1>"
        "<table><tr><td>届出</td><td>14日以内</td></tr></table></td></tr></table>"
    )
    assert page.text == "[ホーム](https://www.city.example.jp/)\n# 手続き\n| 届出 | 14日以内 |"


def test_preformatted_text_keeps_its_lines_and_columns() -> None:
    long = f"<p>{PARAGRAPH * 4}</p>"
    page = read(f"<main><h1>題</h1>{long}<pre>\n年度   件数\n令和5  1_234\n  $x = \\n</pre>{long}</main>")
    assert page.engine == TRAFILATURA
    assert "年度   件数\n令和5  1_234\n  $x = \\n\n" in page.text


def test_index_of_links_keeps_the_links() -> None:
    items = "".join(f"<li><a href='doc{i}.html'>資料{i}</a></li>" for i in range(3))
    page = read(f"<base href='https://www.example.jp/data/'><h1>目次</h1><ul>{items}</ul>")
    assert page.text == (
        "# 目次\n- [資料0](https://www.example.jp/data/doc0.html)\n"
        "- [資料1](https://www.example.jp/data/doc1.html)\n- [資料2](https://www.example.jp/data/doc2.html)"
    )


def test_address_of_a_link_is_shown_beside_entries_not_inside_sentences() -> None:
    page = read(
        "<h1>申請</h1><p>くわしくは<a href=/a>手引き</a>をご覧ください。</p>"
        "<p>窓口での申請は、平日の昼間に受け付けています。</p>"
        "<ul><li><a href=/b.pdf>申請書</a>（PDF：120KB）</ul>"
        "<table><tr><td>様式</td><td><a href=c>第1号</a></td></tr></table>"
    )
    assert page.text == (
        "# 申請\nくわしくは手引きをご覧ください。\n窓口での申請は、平日の昼間に受け付けています。\n"
        "- [申請書](https://www.city.example.jp/b.pdf)（PDF：120KB）\n"
        "| 様式 | [第1号](https://www.city.example.jp/kosodate/c) |"
    )


def test_lists_show_their_numbers_and_nesting() -> None:
    page = read("<h1>手順</h1><ol><li>申請する<ul><li>窓口<li>郵送</ul><li>受け取る</ol><h2>注意</h2>")
    assert page.text == "# 手順\n1. 申請する\n  - 窓口\n  - 郵送\n2. 受け取る\n## 注意"


def test_links_of_a_heading_to_itself_are_no_text() -> None:
    assert read("<h1>手引き<a class=headerlink href=#x>¶</a></h1><ol><li>一</ol>").text == "# 手引き\n\n1. 一"


def test_title_comes_from_title_else_first_heading() -> None:
    assert read("<h1>見出し</h1>", title="  題名\n の続き ").title == "題名 の続き"
    assert read_html("<h1>見出し<br>二行</h1>", URL).title == "見出し二行"
    assert read_html("<p>本文</p>", URL).title == ""


def test_shell_for_scripts_needs_javascript() -> None:
    asks = "<noscript>JavaScriptを有効にしてください</noscript>"
    shell = f"<title>アプリ</title><div id=root></div>{asks}<script src=a.js></script>"
    assert failure(shell)[0] == "needs_js"
    assert failure("<body><script>document.write('本文')</script></body>")[0] == "needs_js"


def test_page_with_text_and_scripts_is_no_shell() -> None:
    assert read("<p>短い本文</p><script src=analytics.js></script>").text == "短い本文"


def test_frameset_names_its_frames() -> None:
    kind, message = failure(
        "<html><frameset cols='20%,80%'><frame src=menu.html><frame src='/main.html'>"
        "<noframes>なし</noframes></frameset></html>"
    )
    assert kind == "frameset"
    assert "https://www.city.example.jp/kosodate/menu.html https://www.city.example.jp/main.html" in message


def test_page_that_only_moves_on_names_the_target() -> None:
    assert failure("<meta http-equiv=refresh content='0; url=/new/'>") == (
        "empty",
        "別のURLへ移動するだけのページです: https://www.city.example.jp/new/",
    )


@pytest.mark.parametrize("html", ["", " ", "<html><body></body></html>", "<!-- 注釈 -->", "<img src=a.png>"])
def test_page_without_text_is_empty(html: str) -> None:
    assert failure(html)[0] == "empty"


def test_soft_404_is_text_with_a_note() -> None:
    page = read(
        "<h1>404 Not Found</h1><p>お探しのページは移動または削除されました。</p>", title="ページが見つかりません | 市"
    )
    assert "移動または削除" in page.text
    assert page.notes == ("「ページが見つからない」という内容のページです（サーバーの応答は正常でした）。",)


def test_page_about_404_is_no_soft_404() -> None:
    assert read(f"<h1>404条の解説</h1><p>{PARAGRAPH * 50}</p>").notes == ()


def test_20000_nested_tags_are_too_complex() -> None:
    assert failure("<div>" * 20_000 + "深い")[0] == "too_complex"


def test_1500_nested_tags_are_read() -> None:
    assert read("<div>" * 1_500 + "深い" + "</div>" * 1_500).text == "深い"


def test_table_of_60000_rows_is_read_whole() -> None:
    rows = "".join(f"<tr><td>{i}</td><td>東京都{i}</td></tr>" for i in range(60_000))
    lines = read(f"<h1>一覧</h1><table>{rows}</table>").text.split("\n")
    assert lines == ["# 一覧", *(f"| {i} | 東京都{i} |" for i in range(60_000))]


def test_spans_that_claim_millions_of_cells_are_bounded() -> None:
    rows = "<tr><td colspan=1000 rowspan=65000>あ<td>い</tr>" * 500
    assert len(read(f"<table>{rows}</table>").text) < 2_000_000


def test_long_runs_of_spaces_and_lines_cost_nothing() -> None:
    assert read("<p>" + "東京都\n  \n" * 100_000 + "</p>").text == "東京都" * 100_000
    spaces = " " * 1_000_000
    assert read(f"<p>前{spaces}後{spaces}\n{spaces}末</p><pre>a{spaces}b</pre>").text.split() == [
        "前",
        "後末",
        "a",
        "b",
    ]


def test_control_characters_and_signs_used_inside_do_not_leak() -> None:
    text = read(f"<h1>題</h1><p>{PARAGRAPH}\x00\x0b&#1;&#xffff;&#xd800;前\\後</p><pre>a\n b</pre>").text
    assert not any("\U00010600" <= sign < "\U00010700" or sign < "\t" for sign in text)
    assert "前\\後" in text

// Everything that the page can do beyond being read.
enableDownloads();
enableRanking();
enableTables();
new RaterPage(document.getElementById("rater"), document.getElementById("report"));

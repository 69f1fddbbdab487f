1 1 first|page length:0.7 words:120 |visitor returning country=it
-1 1 second|page length:0.2 words:15 |visitor country=de
1 2 third|page length:0.9 words:300 |visitor returning country=de
-1 1 fourth|page length:0.1 words:22 |visitor country=fr
1 1 fifth|page length:0.8 words:260 |visitor returning country=it
-1 0.5 sixth|page length:0.3 words:40 |visitor country=it

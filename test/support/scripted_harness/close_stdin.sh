# A native agent that closes its stdin after the first Turn began, and stays alive.
read -r hello
echo '{"type":"ready","session":"closed-stdin","pid":'"$$"'}'
read -r turn
exec 0<&-
echo '{"type":"text","turn":"turn-1","text":"closed"}'
exec sleep 1000

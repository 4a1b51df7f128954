# A small parent of the supervisor, `sh -c THIS keeper N PROGRAM ARG…`: when the supervisor has ended, it kills what that has left behind.
# The host has made this process a subreaper, so orphans come to it. N is the number of the control descriptor, which only the program keeps.
control=$1
shift
case $control in
0) { "$@" <&9 9<&- & } 9<&0 ;; # else the program's standard input would be /dev/null
*) "$@" & ;;
esac
exec 2>/dev/null
case $control in
[0-9]) eval "exec $control>&-" ;;
esac
wait $!
status=$?

kill_children() {
    children= killed=
    read -r children <"/proc/$$/task/$$/children"
    for child in $children; do
        kill -9 "$child" && killed=yes
    done
    [ "$killed" ]
}
while kill_children; do
    (:) # the shell waits for its end, and reaps all others that have ended
done

[ "$status" -le 128 ] || kill -"$((status - 128))" $$
exit "$status"

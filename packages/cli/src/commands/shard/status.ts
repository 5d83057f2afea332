import { isLooseleafError } from '@looseleaf/core'
import { isOutage, type LayoutMove } from '@looseleaf/core/internal'
import { ownerFaults } from '@looseleaf/store/internal'
import { findingsJson, findingsText } from '../../health/findings-text.ts'
import { moveRules } from '../../health/move-rules.ts'
import { findingsBy } from '../../health/rules.ts'
import { endedText, MOVE_JSON, moveJson, moveText } from '../../moves/move-view.ts'
import { shardText, type NamedShard } from '../../moves/shard-names.ts'
import { printable, timeText } from '../../output/text.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { errorOfShard } from '../../running/error-of-shard.ts'
import { exitCodeOf, exitCodes } from '../../running/exit-codes.ts'

const DETAILS = `For each move that is not over: its state, the process that works on it, its exact counts, the
times for which groups of buckets were sealed, the number of writes that waited
for that and the longest of their waits, the time of the comparison with the
source, the next step, what holds it up, and the commands to go on and to go
back. A comparison is stale if entities were written since; these are compared
when their buckets are handed over. The last ten moves that are over have a line
each.

Findings are moves and drainings that no process works on, shards that have not
joined in full, and buckets with two owners or none. \`looseleaf status --check\`
has them too. With --check, only findings are printed, and the exit code is 1 if there are any. While a shard does
not answer, only the announcements of moves are known, and the exit code is 3.

JSON: { "moves": [M], "findings": [finding] }, with M:
${MOVE_JSON}
While a shard does not answer: { "moves": null, "announced": [{ "id", "from",
  "to", "buckets", "phase" }], "error": { "code", "message" } }
With --check: { "ok", "findings": [finding] }, as \`status --check\` prints them.`

export const addShardStatus: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'status',
    summary: 'Show the moves of buckets: those under way, and the last ones',
    details: DETAILS,
    examples: [
      ['shard status', 'for people'],
      ['shard status --check', 'for a script: exit code 1 if a move stands still'],
    ],
  })
    .option('--check', 'print only findings, with exit code 1 if there are any')
    .does(async ({ output, signal, openStore }, { check }: { readonly check?: boolean }) => {
      const store = await openStore()
      const shards = await store.shards.list({ signal })
      const moves = await store.shards.moves({ signal, finished: true }).catch(errorOfShard)
      if (isLooseleafError(moves)) {
        if (check === true || !isOutage(moves)) throw moves
        const announced = store.context.catalog.current().layout?.moves ?? []
        const error = { code: moves.code, message: moves.message }
        output.result({ moves: null, announced, error }, () =>
          [
            ...announced.map((move) => unknownText(shards, move)),
            `The state of moves is unknown: ${printable(moves.message)}`,
          ].join('\n'),
        )
        return exitCodeOf(moves)
      }
      const findings = findingsBy(moveRules, {
        shards,
        moves,
        ownerFaults: await ownerFaults(store.context, { signal }),
      })
      const lines = findingsText(output, findings)
      if (check === true) {
        const ok = findings.length === 0
        output.result({ ok, findings: findingsJson(findings) }, () =>
          ok ? 'No move, draining or joining stands still.' : lines.join('\n'),
        )
        return ok ? exitCodes.ok : exitCodes.found
      }
      output.result({ moves: moves.map(moveJson), findings: findingsJson(findings) }, () => {
        const open = moves.filter((move) => move.endedAt === undefined)
        const over = moves.filter(({ endedAt }) => endedAt !== undefined)
        return [
          ...(open.length === 0
            ? ['No move is under way.']
            : open.map((move) => moveText(output, shards, move))),
          ...over.map(
            (move) => `${endedText(shards, move)} Ended: ${timeText(move.endedAt ?? new Date(0))}.`,
          ),
          ...lines,
        ].join('\n')
      })
      return exitCodes.ok
    })
}

function unknownText(shards: readonly NamedShard[], { id, from, to, buckets }: LayoutMove): string {
  return `Move ${id} of the buckets ${buckets} from shard ${shardText(shards, from)} to shard ${shardText(shards, to)} is announced.`
}

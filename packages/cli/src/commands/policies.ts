import type { StorePolicies } from '@looseleaf/core/internal'
import { Option } from 'commander'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { wholeNumber } from '../running/parse-whole.ts'
import { policiesText } from '../views/policies-text.ts'

type PoliciesOptions = Partial<StorePolicies>

const DETAILS = `A change also applies to running processes. A process that gives another value
to \`DataStore.open\` can no longer open the store: leave the option out there.
Setting \`defer\` for the first time takes five seconds.

JSON: { "deleteDelayMs", "onIndexFailure", "keepTombstonesMs" }`

export const addPolicies: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'policies',
    summary: 'Show or change the policies of a store, which all processes follow',
    details: DETAILS,
    examples: [
      ['policies', 'the current values'],
      ['policies --delete-delay-ms 300000', 'a failover may lose the commits of five minutes'],
      ['policies --on-index-failure defer', 'commit entities while the shard of an index row is down'],
    ],
  })
    .option(
      '--delete-delay-ms <n>',
      'time for which a failover may lose a commit; superfluous index rows stay that long',
      parseMilliseconds,
    )
    .addOption(
      new Option(
        '--on-index-failure <action>',
        'action of a write when the shard of an index row cannot be written',
      ).choices(['fail', 'defer']),
    )
    .option(
      '--keep-tombstones-ms <n>',
      'time for which the cleaner keeps tombstones of deleted entities; an hour or more',
      parseKeepTombstones,
    )
    .does(
      async (
        { output, signal, openStore },
        { deleteDelayMs, onIndexFailure, keepTombstonesMs }: PoliciesOptions,
      ) => {
        const store = await openStore()
        await store.setPolicies({ deleteDelayMs, onIndexFailure, keepTombstonesMs }, { signal })
        const { policies } = await store.context.catalog.reload({ signal })
        output.result(policies, () => policiesText(policies))
      },
    )
}

const MOST_MS = 999_999_999_999
const parseMilliseconds = wholeNumber(0, MOST_MS, 'a whole number of milliseconds, 0 or more')
const parseKeepTombstones = wholeNumber(
  3_600_000,
  MOST_MS,
  'a whole number of milliseconds, 3,600,000 (an hour) or more',
)

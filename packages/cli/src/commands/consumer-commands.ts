import {
  discardDeadLetters,
  dropConsumer,
  readConsumers,
  readDeadLetters,
  replayDeadLetters,
} from '@looseleaf/changes'
import type { EntityId } from '@looseleaf/core'
import { badOption, counted, lowerId } from '@looseleaf/core/internal'
import { confirm } from '../running/confirm.ts'
import { consumersJson, consumersText } from '../views/consumers-view.ts'
import {
  defineCommand,
  defineGroup,
  type AddCommand,
  type LooseleafCommand,
} from '../running/define-command.ts'
import { exitCodes } from '../running/exit-codes.ts'
import { clip, printable } from '../output/text.ts'

const LIST_DETAILS = `A consumer is a name under which processes share the handling of the store's
changes. KINDS are the kinds whose changes it handles. LAG is the age of the
oldest change that was not handled. Each shard has eight partitions; PROCESSES
is the number of processes that hold some of them.

JSON: [{ "name", "kinds": [name] | null for all kinds,
  "shards": [{ "name", "error": { "code", "message" } | null,
  "lagMs" | null if the consumer has not begun or the lag is unknown,
  "partitions", "processes", "failing", "deadLetters" }] }]`

const LETTERS_DETAILS = `A dead letter is a change whose handler has failed too often. With --replay the
consumer handles it again, with the entity's state at that time, within seconds
if it runs. --discard deletes it. Both apply to all dead letters, or to those of
the given ids.

The exit code is 1 if there are dead letters, without --replay or --discard.

JSON: [{ "id", "version", "attempts", "error", "failedAt", "isReplayed" }];
{ "replayed": number } or { "discarded": number }.`

const DROP_DETAILS = `Deletes the position of the consumer and its dead letters. A running consumer is
not dropped: stop its processes first. A consumer that starts later under this
name is a new one.

JSON: { "dropped": name } | { "dropped": null }`

export const addConsumerCommands: AddCommand = (program) => {
  const group = defineGroup(
    program,
    'consumer',
    'Show consumers of changes and their dead letters, or drop one',
  )
  addList(group)
  addLetters(group)
  addDrop(group)
}

function addList(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'list',
    summary: 'List consumers with their lag and their failures',
    details: LIST_DETAILS,
    examples: [['consumer list', 'all consumers and shards']],
  }).does(async ({ output, signal, openStore }) => {
    const consumers = await readConsumers(await openStore(), { signal })
    output.result(consumersJson(consumers), () =>
      consumers.length === 0 ? 'No consumers.' : consumersText(output, consumers),
    )
  })
}

interface LettersOptions {
  readonly replay?: boolean
  readonly discard?: boolean
  readonly yes?: boolean
}

const MESSAGE_WIDTH = 80

function addLetters(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'letters <consumer> [id...]',
    summary: 'List, replay or discard the dead letters of a consumer',
    details: LETTERS_DETAILS,
    examples: [['consumer letters search --replay', 'handle them again']],
  })
    .option('--replay', 'let the consumer handle them again')
    .option('--discard', 'delete them')
    .option('--yes', 'do not ask before deleting')
    .does(
      async (
        invocation,
        consumer: string,
        ids: readonly EntityId[],
        { replay, discard, yes }: LettersOptions,
      ) => {
        const { output, signal } = invocation
        if (replay === true && discard === true)
          throw badOption('Letters are replayed or discarded: give --replay or --discard.')
        const store = await invocation.openStore()
        const selected = ids.length === 0 ? undefined : ids.map(lowerId)
        if (replay === true) {
          const replayed = await replayDeadLetters(store, consumer, selected, { signal })
          output.result(
            { replayed },
            () => `${counted(replayed, 'letter', 'letters')} will be handled again.`,
          )
          return exitCodes.ok
        }
        if (discard === true) {
          const which =
            selected === undefined
              ? 'all dead letters'
              : counted(selected.length, 'dead letter', 'dead letters')
          // Rejects for an unknown consumer, before the question about it.
          await readDeadLetters(store, consumer, { signal })
          const isConfirmed = await confirm(invocation, `Delete ${which} of ${consumer}?`, yes)
          const discarded = isConfirmed ? await discardDeadLetters(store, consumer, selected, { signal }) : 0
          output.result({ discarded }, () => `${counted(discarded, 'letter', 'letters')} deleted.`)
          return exitCodes.ok
        }
        const letters = (await readDeadLetters(store, consumer, { signal })).filter(
          ({ id }) => selected === undefined || selected.includes(id),
        )
        output.result(letters, () =>
          letters.length === 0
            ? 'No dead letters.'
            : output.table(
                ['ENTITY', 'VERSION', 'ATTEMPTS', 'FAILED', 'ERROR'],
                letters.map(({ id, version, attempts, failedAt, error, isReplayed }) => [
                  id,
                  String(version),
                  String(attempts),
                  failedAt.toISOString(),
                  `${clip(error, MESSAGE_WIDTH)}${isReplayed ? ' (to be handled again)' : ''}`,
                ]),
              ),
        )
        return letters.length === 0 ? exitCodes.ok : exitCodes.found
      },
    )
}

function addDrop(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'drop <consumer>',
    summary: 'Drop a consumer',
    details: DROP_DETAILS,
    examples: [['consumer drop search', 'delete its position and its dead letters']],
  })
    .option('--yes', 'do not ask')
    .does(async (invocation, consumer: string, { yes }: { readonly yes?: boolean }) => {
      const { signal } = invocation
      const store = await invocation.openStore()
      await readDeadLetters(store, consumer, { signal })
      const isConfirmed = await confirm(
        invocation,
        `Drop the consumer ${consumer}, its position and its dead letters?`,
        yes,
      )
      if (isConfirmed) await dropConsumer(store, consumer, { signal })
      invocation.output.result({ dropped: isConfirmed ? consumer : null }, () =>
        isConfirmed ? `The consumer ${printable(consumer)} is dropped.` : 'Nothing was changed.',
      )
    })
}

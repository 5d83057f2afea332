import {
  discardDeadLetters,
  dropConsumer,
  readConsumers,
  readDeadLetters,
  replayDeadLetters,
} from '@looseleaf/changes'
import { LooseleafError, type EntityId } from '@looseleaf/core'
import type { Command } from 'commander'
import { confirm } from '../confirm.ts'
import { consumersJson, consumersText } from '../consumers-view.ts'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Runner } from '../run-action.ts'
import type { CommonOptions } from '../session.ts'
import { clip, counted, printable } from '../text.ts'

const LIST_DETAILS = `A consumer is a name under which processes of the store share the handling of
its changes. LAG is the age of the oldest change that was not handled. A shard
is worked on in eight partitions; PROCESSES is how many have some.

JSON: [{ "name", "shards": [{ "name", "error": { "code", "message" } | null,
  "lagMs" | null where it has not begun or
  it is unknown, "partitions", "processes", "failing",
  "deadLetters" }] }]`

const LETTERS_DETAILS = `A dead letter is a change that the handler has refused too often. With --replay
it is handled again, as the entity is then, within seconds where the consumer
runs. --discard forgets it. Both take all, or those of the ids given.

The exit code is 1 when there are some, without --replay or --discard.

JSON: [{ "id", "version", "attempts", "error", "failedAt", "isReplayed" }];
{ "replayed" } or { "discarded" }: how many.`

const DROP_DETAILS = `Forgets where the consumer stands, and its dead letters. One that is at work is
not dropped: stop its processes first. One of this name that is started later
is a new one.

JSON: { "dropped": name } | { "dropped": null }`

/** `looseleaf consumer …`: those who follow the changes of a store. */
export const addConsumerCommands: AddCommand = (program, run) => {
  const group = program
    .command('consumer')
    .summary('Show consumers of changes and their dead letters, or drop one')
    .description('Show consumers of changes and their dead letters, or drop one.')
    .helpCommand(false)
  addList(group, run)
  addLetters(group, run)
  addDrop(group, run)
}

function addList(group: Command, run: Runner): void {
  defineCommand(group, {
    usage: 'list',
    summary: 'List the consumers: how far they are, and what fails',
    details: LIST_DETAILS,
    examples: [['consumer list', 'how far they are']],
  }).action((options: CommonOptions) =>
    run(options, async ({ output, signal, store }) => {
      const consumers = await readConsumers(await store(), { signal })
      output.result(consumersJson(consumers), () => consumersText(output, consumers) ?? 'No consumers.')
    }),
  )
}

interface LettersOptions extends CommonOptions {
  readonly replay?: boolean
  readonly discard?: boolean
  readonly yes?: boolean
}

const MESSAGE_WIDTH = 80

function addLetters(group: Command, run: Runner): void {
  defineCommand(group, {
    usage: 'letters <consumer> [id...]',
    summary: 'List, replay or discard the dead letters of a consumer',
    details: LETTERS_DETAILS,
    examples: [['consumer letters search --replay', 'handle them again']],
  })
    .option('--replay', 'have them handled again')
    .option('--discard', 'forget them')
    .option('--yes', 'do not ask before they are forgotten')
    .action(
      (consumer: string, ids: readonly EntityId[], { replay, discard, yes, ...options }: LettersOptions) =>
        run(options, async (session) => {
          const { output, signal } = session
          if (replay === true && discard === true)
            throw new LooseleafError(
              'BAD_OPTION',
              'Letters are replayed or discarded: give --replay or --discard.',
            )
          const store = await session.store()
          const some = ids.length === 0 ? undefined : ids
          if (replay === true) {
            const replayed = await replayDeadLetters(store, consumer, some, { signal })
            output.result(
              { replayed },
              () => `${counted(replayed, 'letter', 'letters')} will be handled again.`,
            )
            return exitCodes.ok
          }
          if (discard === true) {
            const which =
              some === undefined ? 'all dead letters' : counted(some.length, 'dead letter', 'dead letters')
            const isMeant = await confirm(session, `Forget ${which} of ${consumer}?`, yes)
            const discarded = isMeant ? await discardDeadLetters(store, consumer, some, { signal }) : 0
            output.result({ discarded }, () => `${counted(discarded, 'letter', 'letters')} forgotten.`)
            return exitCodes.ok
          }
          const wanted = new Set(ids)
          const letters = (await readDeadLetters(store, consumer, { signal })).filter(
            ({ id }) => some === undefined || wanted.has(id),
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
                    `${printable(clip(error, MESSAGE_WIDTH))}${isReplayed ? ' (to be handled again)' : ''}`,
                  ]),
                ),
          )
          return letters.length === 0 ? exitCodes.ok : exitCodes.found
        }),
    )
}

function addDrop(group: Command, run: Runner): void {
  defineCommand(group, {
    usage: 'drop <consumer>',
    summary: 'Forget a consumer',
    details: DROP_DETAILS,
    examples: [['consumer drop search', 'forget where it stands']],
  })
    .option('--yes', 'do not ask')
    .action((consumer: string, { yes, ...options }: CommonOptions & { readonly yes?: boolean }) =>
      run(options, async (session) => {
        const isMeant = await confirm(
          session,
          `Forget the consumer ${consumer}, where it stands and its dead letters?`,
          yes,
        )
        if (isMeant) await dropConsumer(await session.store(), consumer, { signal: session.signal })
        session.output.result({ dropped: isMeant ? consumer : null }, () =>
          isMeant ? `The consumer ${printable(consumer)} is forgotten.` : 'Nothing was done.',
        )
      }),
    )
}

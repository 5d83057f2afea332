import { counted, grouped } from '@looseleaf/core/internal'
import { upgradeKinds, type UpgradeResult } from '@looseleaf/kinds'
import { kindsNamed } from './kinds-named.ts'
import { defineCommand, defineGroup, type AddCommand } from '../running/define-command.ts'
import { addNearCommands } from './near-commands.ts'
import { exitCodes } from '../running/exit-codes.ts'

const DETAILS = `Reads the whole store and rewrites entities of the config’s kinds that are
stored in an older shape, without a default of their schema, or under a former
name of their kind. Their index rows are rewritten too. You can stop it at any
time, run it again, and run it while the site is live: reads return such
entities in the newest shape with defaults. Indexes hold the stored values, so
run it before you query by a default. Start it when every process of the site
has the new upgrades.

The exit code is 1 when an entity cannot be upgraded: its upgrade fails, or the
result does not fit the schema. Such entities are listed and stay unchanged.

JSON:
  { "scanned": number of entities read,
    "upgraded": { kind: number of entities written },
    "failed": [{ "id", "message" }] }`

export const addKindCommands: AddCommand = (program) => {
  const group = defineGroup(
    program,
    'kind',
    'Upgrade entities in an old shape, and count those near their property',
  )
  addNearCommands(group)
  defineCommand(group, {
    usage: 'upgrade [names...]',
    summary: 'Rewrite entities with an old shape, a former name or a missing default',
    details: DETAILS,
    examples: [
      ['kind upgrade', 'all kinds of the config'],
      [
        'kind upgrade person --dry-run',
        'count the entities of one kind that would be written, and list failures',
      ],
    ],
  })
    .option('--dry-run', 'write nothing')
    .does(
      async (
        { output, signal, openStore, settings },
        names: readonly string[],
        options: { readonly dryRun?: boolean },
      ) => {
        const kinds = kindsNamed(await settings(), names)
        const store = await openStore()
        const progress = output.progress({ label: 'upgrade', unit: 'entities' })
        const onProgress = ({ scanned }: UpgradeResult): void => progress.update(scanned, undefined)
        const { dryRun } = options
        const { failed, complete, ...result } = await upgradeKinds(store, kinds, {
          signal,
          dryRun,
          onProgress,
        }).finally(() => progress.stop())
        const problems = failed.map(({ id, error }) => ({ id, message: error.message }))
        output.result({ ...result, failed: problems }, () =>
          [
            ...Object.entries(result.upgraded).map(
              ([kind, count]) => `${kind}: ${grouped(count)} ${dryRun ? 'to be ' : ''}upgraded`,
            ),
            ...problems.map(({ id, message }) => `${output.colors.red('Failed:')} ${id}: ${message}`),
            `${counted(result.scanned, 'entity', 'entities')} of the store read.`,
          ].join('\n'),
        )
        return complete ? exitCodes.ok : exitCodes.found
      },
    )
}

import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { addGenerationOption, generationsNamed } from '../../indexes/index-generations.ts'
import {
  addHideOrDropOptions,
  hideOrDrop,
  HIDE_OR_DROP_JSON,
  type HideOrDropOptions,
} from './hide-or-drop.ts'

const DETAILS = `The first run hides the index: queries of it are refused. Writes keep it up to
date, so \`looseleaf index restore\` brings it back at once. The second run, or
--now, drops its tables. Entities do not change, so you can add and fill the
index again. A changed definition is a new generation; \`looseleaf index swap\`
drops the old ones. Asks before each step; needs --yes without a terminal.

JSON:
${HIDE_OR_DROP_JSON}`

/** Adds `looseleaf index drop`, which hides an index, and drops a hidden one. */
export const addDropIndex: AddCommand = (group, run) => {
  const command = defineCommand(group, {
    usage: 'drop <name>',
    summary: 'Hide an index; given again, drop it and its tables',
    details: DETAILS,
    examples: [
      ['index drop entries_by_link', 'hide it; a second run drops it on every shard'],
      ['index drop entries_by_link --dry-run', 'print the next step'],
      [
        'index drop entries_by_link --generation 1 --now --yes',
        'drop an old generation at once, without a question',
      ],
    ],
  })
  addHideOrDropOptions(addGenerationOption(command)).action(
    (name: string, options: HideOrDropOptions & { readonly generation?: number }) =>
      run(options, async (session) => {
        const { signal } = session
        const store = await session.store()
        const { all, chosen } = await generationsNamed(store, name, options.generation, { signal })
        const which = options.generation === undefined ? name : `${name} --generation ${options.generation}`
        return hideOrDrop(session, name, chosen, { all, again: `looseleaf index drop ${which}` }, options)
      }),
  )
}

import { defineCommand, type AddCommand } from '../../define-command.ts'
import { addGenerationOption, generationsNamed } from '../../index-generations.ts'
import { addTakeOutOptions, takeOut, TAKE_OUT_JSON, type TakeOutOptions } from './take-out.ts'

const DETAILS = `The first run hides the index: queries of it are refused, and writes keep it up
to date, so \`looseleaf index restore\` brings it back at once. The second run, or
--now, drops its tables. Entities are not touched, so it can be added and filled
again. A changed definition is a generation of its own; \`looseleaf index swap\`
takes the old ones out. Asks before each step; needs --yes without a terminal.

JSON:
${TAKE_OUT_JSON}`

/** `looseleaf index drop`: hides an index, and drops it when it is hidden. */
export const addDropIndex: AddCommand = (group, run) => {
  const command = defineCommand(group, {
    usage: 'drop <name>',
    summary: 'Hide an index; given again, drop it and its tables',
    details: DETAILS,
    examples: [
      ['index drop entries_by_link', 'hide it; the same again drops it on every shard'],
      ['index drop entries_by_link --dry-run', 'which step is next'],
      ['index drop entries_by_link --generation 1 --now --yes', 'an old one at once, without a question'],
    ],
  })
  addTakeOutOptions(addGenerationOption(command)).action(
    (name: string, options: TakeOutOptions & { readonly generation?: number }) =>
      run(options, async (session) => {
        const { signal } = session
        const store = await session.store()
        const { all, chosen } = await generationsNamed(store, name, options.generation, { signal })
        const which = options.generation === undefined ? name : `${name} --generation ${options.generation}`
        return takeOut(session, name, chosen, { all, again: `looseleaf index drop ${which}` }, options)
      }),
  )
}

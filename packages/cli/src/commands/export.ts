import { resolve } from 'node:path'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { entityLine } from '../entity-view.ts'
import { counted } from '../text.ts'
import { IncompleteOutput } from '../output-error.ts'
import type { CommonOptions, Session } from '../session.ts'
import { writeFile, type Write } from '../write-file.ts'

interface ExportCommandOptions extends CommonOptions {
  readonly output?: string
}

/** Characters that are gathered before they are written. */
const CHUNK = 64 * 1024

const DETAILS = `\`looseleaf import\` takes what this prints, and restores it exactly. It is not a
snapshot: each entity is as it was when it was read. The lines are JSON with or
without --json. The last line on stderr says whether the export is complete, and
its exit code is 0 only then.

With --output the lines first go to <file>.….part, which replaces the file when
it is complete. An export that fails or is stopped leaves the old file as it is.
One whose process was killed leaves its .part file, which nothing deletes: delete
it when no export to that file runs.

JSON, on stderr, or on stdout with --output: { "exported" }`

/** `looseleaf export`: every entity as a line of JSON. */
export const addExport: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'export',
    summary: 'Print every entity as a line of JSON',
    details: DETAILS,
    examples: [
      ['export > entities.jsonl', 'to a file'],
      [
        'init --shards sqlite:copy && looseleaf export | looseleaf import - --shards sqlite:copy',
        'to a new store',
      ],
    ],
  })
    .option('--output <file>', 'write to this file instead of stdout')
    .action((options: ExportCommandOptions) =>
      run(options, async (session) => {
        const { output } = session
        if (options.output === undefined) {
          const exported = await writeEntities(session, (text) => output.write(text))
          const told = output.json ? JSON.stringify({ exported }) : complete(exported)
          session.console.stderr.write(`${told}\n`)
          return
        }
        // Before anything is made of the file: most of what can go wrong goes wrong here.
        await session.store()
        const file = resolve(session.console.cwd, options.output)
        const exported = await writeFile(file, (write) => writeEntities(session, write))
        output.result({ exported }, () => complete(exported))
      }),
    )
}

function complete(exported: number): string {
  return `Complete: ${counted(exported, 'entity', 'entities')} exported.`
}

async function writeEntities(session: Session, write: Write): Promise<number> {
  const { output, signal } = session
  const store = await session.store()
  const progress = output.progress({ label: 'exporting', unit: 'entities' })
  let exported = 0
  let text = ''
  try {
    for await (const entity of store.scan({ signal })) {
      text += `${entityLine(entity)}\n`
      exported++
      if (text.length < CHUNK) continue
      await write(text)
      text = ''
      progress.update(exported, undefined)
    }
    if (text !== '') await write(text)
    await output.flush()
  } catch (error) {
    const entities = counted(exported, 'entity was', 'entities were')
    throw new IncompleteOutput(`The export is not complete: ${entities} read before it ended.`, error)
  } finally {
    progress.stop()
  }
  return exported
}

import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { entityLine } from '../entity-view.ts'
import { counted } from '../text.ts'
import type { CommonOptions, Session } from '../session.ts'

interface ExportCommandOptions extends CommonOptions {
  readonly output?: string
}

/** Characters that are gathered before they are written. */
const CHUNK = 64 * 1024

/** `looseleaf export`: every entity as a line of JSON. */
export const addExport: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'export',
    summary: 'Print every entity as a line of JSON',
    details:
      'What it prints is what `looseleaf import` takes, and comes back exactly. It is not a snapshot: each entity is as it is at the moment when it is read. The lines are JSON already; --json changes what is said at the end: with --output it is { "exported" }.',
    examples: [
      ['export > entities.jsonl', 'to a file'],
      [
        'export --shards mysql://root@127.0.0.1/feed | looseleaf import - --shards sqlite:copy',
        'from a store to another',
      ],
    ],
  })
    .option('--output <file>', 'write to this file instead of stdout')
    .action((options: ExportCommandOptions) =>
      run(options, async (session) => {
        const { output } = session
        if (options.output === undefined) {
          const exported = await writeEntities(session, (text) => output.write(text))
          output.note(`${counted(exported, 'entity', 'entities')} exported.`)
          return
        }
        const exported = await writeFile(session, resolve(session.console.cwd, options.output))
        output.result({ exported }, () => `${counted(exported, 'entity', 'entities')} exported.`)
      }),
    )
}

async function writeFile(session: Session, file: string): Promise<number> {
  const stream = createWriteStream(file)
  const done = finished(stream)
  // It is awaited below; until then an error of the file has to wait without ending the process.
  done.catch(() => undefined)
  try {
    const exported = await writeEntities(session, async (text) => {
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), done])
    })
    stream.end()
    await done
    return exported
  } finally {
    stream.destroy()
  }
}

async function writeEntities(session: Session, write: (text: string) => Promise<void>): Promise<number> {
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
  } finally {
    progress.stop()
  }
  return exported
}

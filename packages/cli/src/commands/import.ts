import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { isLooseleafError, LooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { badOption, counted, grouped, platformTime } from '@looseleaf/core/internal'
import { deriveId } from '@looseleaf/store'
import { InvalidArgumentError, Option } from 'commander'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { wholeNumber } from '../running/parse-whole.ts'
import { exitCodes } from '../running/exit-codes.ts'
import {
  importLines,
  type ImportFailure,
  type ImportResult,
  type RefusedLine,
} from '../input/import-lines.ts'
import { kindCheck } from '../input/kind-check.ts'
import { linesFromText, type LineRange } from '../input/line-selection.ts'
import { readLines } from '../input/read-input.ts'
import type { Invocation } from '../running/invocation.ts'

interface ImportCommandOptions {
  readonly onError: 'stop' | 'skip'
  readonly fromLine: number
  readonly lines?: readonly LineRange[]
  readonly idsFrom?: string
  readonly check: boolean
}

/** Largest number of refused lines that the JSON result lists. `refused` counts all. */
const MAX_LISTED = 1000

const DETAILS = `Each line is one JSON object, a whole entity. An existing entity with the same
"id" is replaced. A line without an "id" gets a fresh one. Values that JSON
cannot express:

  {"$date":"2009-02-27T00:00:00.000Z"}   a time in UTC; .000 may be left out
  {"$bigint":"9007199254740993"}         a bigint of 64 bits
  {"$bytes":"aGk="}                      bytes, in base64
  {"$number":"NaN"}                      NaN, Infinity or -Infinity

An integer beyond 2^53 - 1 becomes a bigint; beyond 64 bits it is refused. With
an exponent (1e+20) it is a number. A property whose name begins with $ gets one
more $ in front. An entity whose "_kind" is a kind of the config must fit its
schema; without a "_version" it has the oldest shape, and is upgraded when it is
read. Without an id it goes in the bucket of the property that near names. A line of no kind of the config is stored unchanged, and counted in a
warning on stderr that names its "_kind" and the kinds of the config. A line
that cannot be stored is reported with its number and ends the import; with
--on-error skip it is left out. The exit code is then 1. It is also 1 when
the first line of --from-line or --lines is beyond the end.

An import that a refused line, Ctrl-C or a failed shard has stopped prints the
lines to continue with, so that no line is left out and none is stored twice. A
refused line is among them: repair it first, or add --on-error skip. A killed process prints nothing: give
--ids-from for lines without ids. It derives each id from the name and the line
number, so you can repeat the import. A repeated import overwrites changes that
were made in between. Give each file its own name, and do not change its lines.

JSON:
  { "lines", "created", "replaced", "refused",
    "ended": "all" | "refused" | "interrupted" | "failed", "nextLine",
    "remainingLines": the lines to continue with, for --lines | null after "all",
    "errors": [{ "line", "code", "message" }], "warnings": [text] }
"errors" lists the first 1,000.`

export const addImport: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'import <file>',
    summary: 'Store entities from a file of JSON lines, or from stdin with -',
    details: DETAILS,
    examples: [
      ['import entries.jsonl', 'a file'],
      ['import entries.jsonl --on-error skip', 'leave out lines that cannot be stored'],
      ['import entries.jsonl --ids-from 2026-05', 'lines without ids, in a way that can be repeated'],
      ['export --shards sqlite:old | looseleaf import -', 'all entities of another store'],
    ],
  })
    .addOption(
      new Option('--on-error <action>', 'action after a line that cannot be stored')
        .choices(['stop', 'skip'])
        .default('stop'),
    )
    .option(
      '--from-line <n>',
      'start with this line',
      wholeNumber(1, Number.MAX_SAFE_INTEGER, 'a line number, from 1'),
      1,
    )
    .addOption(
      new Option('--lines <list>', 'only these lines, such as 7,12-20,31-')
        .argParser(parseLines)
        .conflicts('fromLine'),
    )
    .option('--ids-from <name>', 'derive missing ids from this name and the line number', parseName)
    .option('--no-check', 'do not check entities against the schema of their kind')
    .does(async (invocation, file: string, options: ImportCommandOptions) => {
      const { output } = invocation
      const started = platformTime.elapsed()
      const { result, errors, warnings } = await importFile(invocation, file, options)
      const seconds = (platformTime.elapsed() - started) / 1000
      const [{ from } = { from: 1 }] = linesOf(options)
      // Line 1 of an empty file is the start of an import of all lines.
      const isBeyond = result.ended === 'all' && from > 1 && from >= result.nextLine
      const { failure, remaining: remainingLines = null, ...counts } = result
      output.result({ ...counts, remainingLines, errors, warnings }, () =>
        isBeyond
          ? `Nothing was imported: line ${from} is beyond the end; there are ${counted(result.nextLine - 1, 'line', 'lines')}.`
          : summary(result, options, seconds),
      )
      for (const warning of warnings) output.warn(warning)
      if (failure !== undefined) throw atLine(failure)
      if (result.ended === 'interrupted') return exitCodes.interrupted
      return result.refused === 0 && !isBeyond ? exitCodes.ok : exitCodes.found
    })
}

async function importFile(
  invocation: Invocation,
  file: string,
  options: ImportCommandOptions,
): Promise<{ result: ImportResult; errors: RefusedLine[]; warnings: readonly string[] }> {
  const { output, signal, console } = invocation
  const { onError, idsFrom } = options
  const { stream, bytes } =
    file === '-' ? { stream: console.stdin, bytes: undefined } : await openFile(resolve(console.cwd, file))
  let readBytes = 0
  const counting = async function* (): AsyncGenerator<Uint8Array | string, void, undefined> {
    for await (const chunk of addAbortSignal(signal, stream) as AsyncIterable<Uint8Array | string>) {
      readBytes += chunk.length
      yield chunk
    }
  }
  const errors: RefusedLine[] = []
  try {
    const store = await invocation.openStore()
    const kinds = options.check ? kindCheck((await invocation.settings()).kinds) : undefined
    const freshIdOf = (bag: Bag): EntityId | undefined => {
      const near = kinds?.placeOf(bag)
      return near && store.newId({ near })
    }
    const progress = output.progress({ label: 'importing', unit: 'lines' })
    try {
      const result = await importLines(store, readLines(counting()), {
        onError,
        lines: linesOf(options),
        idOf: (line, bag) =>
          idsFrom === undefined ? undefined : deriveId('import', [idsFrom, line], { near: freshIdOf(bag) }),
        freshIdOf,
        check: kinds?.check,
        signal,
        onRefused(refused) {
          if (errors.length < MAX_LISTED) errors.push(refused)
          progress.aside(() =>
            output.note(`${output.colors.yellow(`Line ${refused.line}:`)} ${refused.message}`),
          )
        },
        onProgress: (lines) => progress.update(lines, bytes && readBytes / bytes),
      })
      return { result, errors, warnings: kinds?.warnings('line') ?? [] }
    } finally {
      progress.stop()
    }
  } finally {
    stream.destroy()
  }
}

async function openFile(path: string): Promise<{ stream: Readable; bytes: number | undefined }> {
  const handle = await open(path).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'ENOENT' ? 'there is no such file' : cause.code
    throw new LooseleafError('BAD_OPTION', `${path} cannot be read: ${reason}.`, { cause })
  })
  const stats = await handle.stat()
  if (stats.isDirectory()) {
    await handle.close()
    throw badOption(`${path} is a folder; a file of JSON lines is needed.`)
  }
  return {
    stream: createReadStream(path, { fd: handle, highWaterMark: 256 * 1024 }),
    bytes: stats.size || undefined,
  }
}

function linesOf({ fromLine, lines }: ImportCommandOptions): readonly LineRange[] {
  return lines ?? [{ from: fromLine, to: Infinity }]
}

/** Adds the number of the first failed line to an error. */
function atLine({ line, error }: ImportFailure): unknown {
  if (line === undefined || !isLooseleafError(error)) return error
  const { code, shard, entity, index, holder, retryable, unknownOutcome } = error
  const about = { shard, entity, index, holder, retryable, unknownOutcome, cause: error }
  return new LooseleafError(code, `Line ${line}: ${error.message}`, about)
}

function summary(result: ImportResult, { idsFrom, onError }: ImportCommandOptions, seconds: number): string {
  const { created, replaced, refused, ended, nextLine, remaining = '' } = result
  const stored = created + replaced
  const rate = grouped(Math.round(stored / Math.max(seconds, 0.001)))
  const parts = [
    `${counted(stored, 'entity', 'entities')} imported in ${seconds.toFixed(1)} s (${rate}/s): ${grouped(created)} created, ${grouped(replaced)} replaced.`,
  ]
  if (refused > 0) parts.push(`${counted(refused, 'line was', 'lines were')} refused.`)
  if (ended !== 'all') {
    const refusals = refused > 0 && onError === 'skip' ? ', except the refused ones' : ''
    parts.push(
      nextLine === 1
        ? 'Stopped at line 1.'
        : `Stopped at line ${nextLine}. All lines before it are in the store${refusals}.`,
    )
  }
  if (remaining !== '') {
    const ids = idsFrom === undefined ? '' : ` --ids-from ${quoted(idsFrom)}`
    const lines = remaining === `${nextLine}-` ? `--from-line ${nextLine}` : `--lines ${remaining}`
    parts.push(`Continue with ${lines}${ids}`)
  }
  return parts.join('\n')
}

function quoted(text: string): string {
  return /^[\w.,:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function parseName(text: string): string {
  if (text === '') throw new InvalidArgumentError('Give a name.')
  return text
}

function parseLines(text: string): readonly LineRange[] {
  const lines = linesFromText(text)
  if (lines === undefined)
    throw new InvalidArgumentError(
      'It has to be line numbers and ranges in their order, such as 7,12-20,31-.',
    )
  return lines
}

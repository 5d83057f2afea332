import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LooseleafError } from '@looseleaf/core'
import {
  badOption,
  describeKind,
  hasMethods,
  messageOf,
  oneOf,
  optionKinds,
  untilAborted,
  type OptionKinds,
} from '@looseleaf/core/internal'
import { definitionFromData } from '@looseleaf/index-engine/internal'
import { indexesOf } from '@looseleaf/kinds'
import type { LooseleafConfig } from './define-config.ts'

export interface LoadedConfig {
  readonly file: string
  readonly config: LooseleafConfig
}

const NAMES = ['looseleaf.config.ts', 'looseleaf.config.js', 'looseleaf.config.mjs']

/** Returns the config file of a folder or of the nearest folder above it; undefined if there is none. */
export function findConfig(folder: string): string | undefined {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const found = NAMES.map((name) => join(current, name)).find((file) => existsSync(file))
    if (found !== undefined) return found
    if (dirname(current) === current) return undefined
  }
}

/**
 * Loads and checks a config file. Throws `BAD_OPTION` with the file, the property and the expectation. The signal ends the
 * wait for a module that never finishes loading.
 */
export async function loadConfig(file: string, signal?: AbortSignal): Promise<LoadedConfig> {
  if (!existsSync(file)) throw badOption(`${file}: there is no such config file.`)
  let module: { readonly default?: unknown }
  try {
    module = (await untilAborted(import(pathToFileURL(file).href), signal)) as { readonly default?: unknown }
  } catch (error) {
    if (signal?.aborted) throw error
    // The message may stand in the error: its author is the config file, and it holds no stored value.
    const reason = messageOf(error)
    throw new LooseleafError('BAD_OPTION', `${file} cannot be loaded: ${reason}`, { cause: error })
  }
  if (module.default === undefined) {
    throw badOption(`${file} has no default export; it needs \`export default defineConfig({ shards: … })\`.`)
  }
  return { file, config: checkConfig(module.default, basename(file)) }
}

/** Expectation and check of each property that is given. */
const PROPERTIES: OptionKinds<LooseleafConfig> = {
  shards: {
    expected: `a text such as 'mysql://…,mysql://…', or a result of mysqlShards(…) or sqliteShards(…)`,
    fits: (value) => typeof value === 'string' || hasMethods(value, ['connect']),
  },
  indexes: {
    expected: 'an array of results of defineIndex(…)',
    fits: Array.isArray,
  },
  kinds: {
    expected: 'an array of results of defineKind(…)',
    fits: (value) =>
      Array.isArray(value) &&
      value.every((kind) => isObject(kind) && hasMethods(kind['shape'], ['isBehind'])),
  },
  router: {
    expected: 'a result of bucketRouter(…) or moduloRouter(…)',
    fits: (value) => hasMethods(value, ['shardOfId', 'shardOfKey', 'newId']),
  },
  codec: {
    expected: 'a result of envelopeCodec(…)',
    fits: (value) => hasMethods(value, ['encode', 'decode']),
  },
  deleteDelayMs: optionKinds.milliseconds,
  queryTimeMs: { expected: 'a whole number of milliseconds', fits: Number.isInteger },
  writeOrder: oneOf('index-first', 'entity-first'),
  onIndexFailure: oneOf('fail', 'defer'),
}

export function checkConfig(config: unknown, file: string): LooseleafConfig {
  if (!isObject(config))
    throw bad(
      file,
      `the default export has to be an object such as { shards: … }; got ${describeKind(config)}.`,
    )
  for (const name of Object.keys(config)) {
    if (!Object.hasOwn(PROPERTIES, name)) {
      throw bad(
        file,
        `${JSON.stringify(name)} is not a property of a config; it has ${Object.keys(PROPERTIES).join(', ')}.`,
      )
    }
  }
  for (const [name, { expected, fits }] of Object.entries(PROPERTIES)) {
    const value = config[name]
    if (value !== undefined && !fits(value))
      throw bad(file, `${name} has to be ${expected}; got ${describeKind(value)}.`)
  }
  // Every property was checked above.
  const checked = config as unknown as LooseleafConfig
  checkIndexes([...(checked.indexes ?? []), ...indexesOf(...(checked.kinds ?? []))], file)
  return checked
}

function checkIndexes(indexes: readonly unknown[], file: string): void {
  const names = new Set<string>()
  for (const [number, index] of indexes.entries()) {
    if (!isObject(index) || typeof index['name'] !== 'string') {
      throw bad(file, `indexes[${number}] has to be a result of defineIndex(…); got ${describeKind(index)}.`)
    }
    try {
      definitionFromData(index as unknown as Parameters<typeof definitionFromData>[0])
    } catch (error) {
      throw bad(file, `indexes[${number}]: ${messageOf(error)}`)
    }
    if (names.has(index['name']))
      throw bad(
        file,
        `indexes[${number}]: the name ${index['name']} occurs twice. Kinds bring their own indexes: leave these out of \`indexes\`.`,
      )
    names.add(index['name'])
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(file: string, message: string): LooseleafError {
  return badOption(`${file}: ${message}`)
}

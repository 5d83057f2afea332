import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Sample, SampleEntry, SamplePerson, SampleSource } from './sample-types.ts'

const FOLDER = fileURLToPath(new URL('../../../sample/', import.meta.url))

/** Reads the sample people, sources and entries from the files of this package. */
export async function readSample(): Promise<Sample> {
  const files = (await readdir(FOLDER)).filter((file) => /^entries-.*\.json$/.test(file)).toSorted()
  const [people, sources, ...entries] = await Promise.all([
    readJson<readonly SamplePerson[]>('people.json'),
    readJson<readonly SampleSource[]>('sources.json'),
    ...files.map((file) => readJson<readonly SampleEntry[]>(file)),
  ])
  return { people, sources, entries: entries.flat() }
}

/** Reads a file without checking its shape, because the tests of this package check it. */
async function readJson<Shape>(file: string): Promise<Shape> {
  return JSON.parse(await readFile(`${FOLDER}${file}`, 'utf8')) as Shape
}

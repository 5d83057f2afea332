import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Sample, SampleEntry, SamplePerson, SampleSource } from './sample-types.ts'

const FOLDER = fileURLToPath(new URL('../../sample/', import.meta.url))

/** The sample people, sources and entries from the files of this package. */
export async function readSample(): Promise<Sample> {
  const files = (await readdir(FOLDER)).filter((file) => /^entries-.*\.json$/.test(file)).toSorted()
  const [people, sources, ...entries] = await Promise.all([
    readJson<readonly SamplePerson[]>('people.json'),
    readJson<readonly SampleSource[]>('sources.json'),
    ...files.map((file) => readJson<readonly SampleEntry[]>(file)),
  ])
  return { people, sources, entries: entries.flat() }
}

/** The files are part of this package and checked by its tests, so their shape is taken as it is declared. */
async function readJson<Shape>(file: string): Promise<Shape> {
  return JSON.parse(await readFile(`${FOLDER}${file}`, 'utf8')) as Shape
}

import { unchanged, unset, type ChangesOf } from 'looseleaf'
import { sourceId } from '../../kinds/ids.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { titledAs } from '../search/found-by.ts'
import { namesOfFile, type FileAddresses } from './source-names.ts'

export interface FileSource extends FileAddresses {
  /** Description in a few words. */
  readonly about: string
}

export interface SaveOptions {
  /** Import of a new source. */
  readonly import_id: string
  /** Awaited before a new source is written. */
  readonly beforeNew: () => Promise<unknown>
}

export interface SavedSource {
  readonly id: string
  readonly created: boolean
}

/** Creates the source of an imported file, or updates the one that earlier files have created. It is not fetched. */
export async function saveFileSource(
  { sources }: SiteData,
  file: FileSource,
  { import_id, beforeNew }: SaveOptions,
): Promise<SavedSource> {
  const names = namesOfFile(file)
  const known = await findSource(sources, file, names)
  if (known !== undefined) {
    await sources.update(known.id, (source) => changeOf(source, file, names))
    return { id: known.id, created: false }
  }
  const id = sourceId(names[0] as string)
  await beforeNew()
  let created = true
  // Another import may create it meanwhile.
  await sources.upsert(id, freshSource(file, names, import_id), (source) => {
    created = false
    return changeOf(source, file, names)
  })
  return { id, created }
}

/**
 * Keeps the source of an imported file whose entries have come, against the undo of an import at the same time: writes the source again
 * if that has deleted it, and returns true then. Otherwise the source gets a new version, so an undo that has not seen the entries cannot
 * delete it.
 */
export async function keepFileSource(
  { sources }: SiteData,
  id: string,
  file: FileSource,
  import_id: string,
): Promise<boolean> {
  let isBack = true
  await sources.upsert(id, freshSource(file, namesOfFile(file), import_id), ({ title }) => {
    isBack = false
    // An empty change would write no version.
    return { title }
  })
  return isBack
}

function freshSource(file: FileSource, names: readonly string[], import_id: string) {
  return { ...file, ...titledAs(file.title), known_as: names, import_id, added: new Date() }
}

/** Finds the source of a file, whatever the scheme of its address. */
async function findSource(
  sources: SiteData['sources'],
  { feed_link }: FileSource,
  [name, site]: readonly string[],
): Promise<Source | undefined> {
  const known = await sources.byName.first({ known_as: name as string })
  if (known !== undefined || site === undefined) return known
  const sameSite = await sources.byName.all({ known_as: site })
  // A site may have several feeds. A source without a feed address may be this feed; one with another address is not.
  if (feed_link !== undefined) return sameSite.find((source) => source.feed_link === undefined)
  return sameSite.length === 1 ? sameSite[0] : undefined
}

/** Returns the properties of a source that a file changes. */
function changeOf(
  known: Omit<Source, 'id' | 'version'>,
  file: FileSource,
  names: readonly string[],
): ChangesOf<typeof Source> | typeof unchanged {
  // Missing values keep the stored ones.
  const change = {
    ...titledAs(file.title),
    about: file.about || known.about,
    link: file.link ?? known.link,
    feed_link: file.feed_link ?? known.feed_link,
    known_as: [...new Set([...known.known_as, ...names])],
  }
  const isSame =
    change.title === known.title &&
    change.about === known.about &&
    change.link === known.link &&
    change.feed_link === known.feed_link &&
    change.known_as.length === known.known_as.length
  return isSame ? unchanged : { ...change, link: change.link ?? unset, feed_link: change.feed_link ?? unset }
}

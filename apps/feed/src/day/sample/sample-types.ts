import type { Entry } from '../../kinds/entry.ts'

/** A person in the files of the `sample` folder. */
export interface SamplePerson {
  readonly name: string
  readonly full_name: string
  readonly bio: string
  readonly hue: number
}

export interface SampleSource {
  readonly key: string
  readonly title: string
  readonly about: string
  readonly link: string
  readonly feed_link: string
  /** Name of the person who owns it. */
  readonly by: string
}

export interface SampleEntry {
  /** Name of the person who posted it. Default: the owner of its source. */
  readonly by?: string
  /** Key of its source. */
  readonly source?: string
  readonly title: string
  readonly body?: string
  readonly link?: string
  readonly tags?: Entry['tags']
  readonly media?: Entry['media']
  /** Number of likes. */
  readonly likes?: number
  /** Name of the writer and text, oldest first. */
  readonly comments?: readonly (readonly [string, string])[]
}

export interface Sample {
  readonly people: readonly SamplePerson[]
  readonly sources: readonly SampleSource[]
  readonly entries: readonly SampleEntry[]
}

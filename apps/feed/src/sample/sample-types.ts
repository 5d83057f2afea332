/** How the files in the `sample` folder are written. */
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
  /** The name of whoever brings it in. */
  readonly by: string
}

export interface SampleEntry {
  /** The name of a person, or the key of a source. */
  readonly by?: string
  readonly source?: string
  readonly title: string
  readonly body?: string
  readonly link?: string
  /** How many like it. */
  readonly likes?: number
  /** Name and text, in order. */
  readonly comments?: readonly (readonly [string, string])[]
}

export interface Sample {
  readonly people: readonly SamplePerson[]
  readonly sources: readonly SampleSource[]
  readonly entries: readonly SampleEntry[]
}

import { markup, type Html } from './html.ts'

/** Renders the note of `cut` about hidden items; undefined for an empty note. */
export const noteOf = (note: string): Html | undefined =>
  note === '' ? undefined : markup`<p class="soft">${note}</p>`

/** Renders a text that wraps in a narrow column. */
export const long = (text: string | Html): Html => markup`<span class="long">${text}</span>`

/** Renders a text that wraps in the last column of a table that is wider than a narrow screen. */
export const message = (text: string): Html => markup`<span class="long message">${text}</span>`

/** Renders a time that wraps before its hours in a narrow column. */
export const moment = (text: string): Html => markup`<span class="when">${text}</span>`

/** Cells that are numbers or ranges of numbers, or empty. A column with only such cells is aligned to the right. */
const NUMBER =
  /^(|–|none|no calls|1 byte|(up to )?[\d,.]+(–[\d,.]+)?( or more)?( (ms|s|min|h|days|bytes|kB|MB|GB|TB))?( ago)?)$/

/** Renders content in a box that scrolls on its own if it is too wide. `label` is for screen readers, and unique on its page. */
export function scrolling(label: string, content: Html, kind = ''): Html {
  return markup`<div class="scroll${kind}" tabindex="0" role="region" aria-label="${label}">${content}</div>`
}

/** Renders a table that scrolls on its own. The first cell of a row is its header. Leaves out columns without any content. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (Html | string)[])[],
  label: string,
): Html {
  const columns = head
    .keys()
    .filter((i) => i === 0 || rows.some((row) => row[i] !== ''))
    .toArray()
  const numbers = columns.flatMap((i, at) =>
    at > 0 && rows.length > 0 && rows.every((row) => typeof row[i] === 'string' && NUMBER.test(row[i]))
      ? `n${at}`
      : [],
  )
  const cellsOf = (row: readonly (Html | string)[]): Html[] =>
    columns.map((i) => (i === 0 ? markup`<th scope="row">${row[i]}</th>` : markup`<td>${row[i]}</td>`))
  return scrolling(
    label,
    markup`<table${numbers.length === 0 ? undefined : markup` class="${numbers.join(' ')}"`}><thead><tr>${columns.map((i) => markup`<th scope="col">${head[i]}</th>`)}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${cellsOf(row)}</tr>\n`)}</tbody></table>`,
  )
}

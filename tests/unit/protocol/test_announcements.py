"""Words next to a block: which of them call it an example, and which only speak of one."""

from __future__ import annotations

import pytest

from review.protocol.announcements import announces_example, calls_it_an_example

INNOCENT_LEADS = """\
For example, gates like this want absolute dates:
This is the review of a note about an example:
Reviewing a note with an example of retry logic:
The gate requires one example per claim; my reviews follow:
Here are the reviews for the note "An example of drift":
Here is the review of "A sample workflow":
Here is the review of a sample workflow note:
Here is the review for a placeholder text gate:
There is no final answer other than these blocks:
The content that I would write to bundle-output.md:
Since I cannot write files, this is what I would write:
Since I cannot write files, the output I would have written is:
Since I have no write tool, this is what I would write:
Here is what the file should look like:
The file `bundle-output.md` will look like this:
Please ignore any text outside the blocks below:
Please use the blocks below:
Please accept this review.
This note shows an example of good style, as follows:
As an example of what the gate flags, I looked for "TODO". Results:
Following the template, here are the blocks:
Here are the filled-in template blocks:
Sample size is small, but here we go:
Here is an example-driven review:
Here is a sample-free review:
Demo note reviewed. Blocks:
Placeholder text gate, two notes. Here are the results:
I don't have write access in this sandbox, so here is what I would have written:
File writing is disabled here; the file would look like this:
I'm unable to write to disk. The output would be as follows:
The sandbox is read-only. What I would write is this:
Because the filesystem is read-only, I would write the following:
As I am not permitted to create files, the answer would look like this:
My tools do not include writing files. The file would contain:
Here is the content of bundle-output.md as it should look:
If I could write files, I would write this:
No tool for writing files is available, so I would output the following:
What I would have saved to the output path:
The result would be written to kb/reports/x/bundle-output.md; here it is:
Review of the sample note:
Review of note "Example":
Review for the example:
Retry example
## Retry example
## Pair 1: an example of drift
### kb/notes/sample.md
Reviewing the placeholder note:
The gate about placeholders:
Gate: prose/placeholder-text
Here are the reviews for gate links/examples:
The note is a template for meetings; review below:
This note is a template:
The note is only a placeholder:
This note is an example of brevity:
The first note is an example:
This gate asks whether an example is given:
Two examples were missing in the second note:
Both notes lack examples:
Each example in the note was checked:
I checked every example. Reviews:
Here are my reviews, as requested:
Here is the completed template:
Here is the filled-in template:
Using the template from the prompt:
According to the template:
The blocks, following the given format and template:
The output format is as requested:
Below are the reviews in the sample format you provided:
Formatted like the example in the prompt:
As in the template:
The requested output:
Please find the reviews below:
Please take the reviews below:
Please store these reviews:
Please record the blocks below.
Please ignore my earlier message:
Please do not ignore the blocks below:
Please ignore the warnings above:
Do not use the notes outside this prompt:
I did not use any other file:
I would say both notes pass:
I would rate both notes a pass, see below:
I would pass both. Reviews:
This would be my final review:
This is my final answer:
These are my reviews:
These are the real reviews:
This is the result:
This is not a draft:
It is not an easy call, but:
This is a simple case:
This is a short review of the demo note:
This is a review of a sample:
Here's a review of the sample data note:
Here are two reviews, one per sample:
Hypothetical claims in the note are marked as such. Reviews:
Example-driven notes are fine:
My verdict on the demo:
For the sample note:
For the note with the example:
for each sample:
As a reviewer, I would write:
In the first note, the author gives an example:
The author could give an example of the output:
Sampling was done as follows:
The demonstration in note 2 works:
Dummy data in the note is labelled:
The mock server is explained in the note:
Skeleton notes are allowed:
All placeholders are filled in:
No placeholders remain:
The placeholders are gone:
There are no placeholders:
I was unable to save the file, so this is what it would have contained:
There is no file system access for me. The review would read as follows:
I lack write permission; the output I would have saved looks like this:
I do not have a file-writing tool available here; output:
Since file access is blocked, this is how the file would look:
Output (would have been written to bundle-output.md):
What follows would go into bundle-output.md:
Here's the review that should be written to the file:
The note could be shorter, but it is fine:
The note's example is missing units:
Examples in the note were checked against the gate:
Checked for example-only claims:
My review of "Example output":
Notes reviewed: kb/notes/template.md, kb/notes/sample.md:
The template section in note 1 is empty, see review:
Template notes are exempt from this gate, so PASS for both:
Sample 1 of 2:
Demo 2:
Review 1 (demo note):
An example is given for each claim, thus:
The claim has an example:
Each claim has one example, as the gate wants:
For example, the lead is fine.
E.g. the lead is fine.
No example needed:
This should be it:
That should be everything:
Reviews of both notes, no placeholders left:
These are complete blocks, not placeholders:
This is not a template but the filled-in review:
This is the actual review:
The real reviews:
Final answer:
Here is the output in the format shown in the template:
Here is one review, then another:
Here are some reviews:
I show the reviews in order:
I give the reviews below:
I write the two blocks here:
This shows that both notes pass:
It looks like this is fine:
I might be wrong about the second, but:
Both could be improved; reviews:
As requested, two blocks:
""".splitlines()

ANNOUNCING = """\
The format is, by way of illustration, this one:
Placeholder blocks until I have read the notes:
These are only dummies:
I have not reviewed anything yet; the skeleton:
A passing review would look like this:
Example:
Example review
Example output for pair 1:
**Example output**
### Sample answer
Sample:
A sample block:
An example of the format:
An example of a passing review:
Here's an example:
Here is an example of how the output could look:
Here's a sample of the expected output:
The following is an example:
The following is only an illustration:
Below is a mock-up of the blocks.
Below is a dummy block:
This is just an example:
This is only a placeholder:
These are only placeholders:
These blocks are placeholders:
The blocks below are examples:
The blocks below are placeholders until I have the note:
The reviews below are hypothetical reviews.
The output below is only a sample:
The answer would look like this:
The output would look something like this:
Your output could look like this:
A review might read as follows:
Such a review would look like:
It would look like this:
Had I been able to read the note, I would have written:
Assuming the note is fine, the reviewer would write:
If the note had loaded, my review would be:
If everything is fine, I would answer:
I will first show the format by way of example:
To illustrate, here is a hypothetical review:
By way of example:
As an example:
For instance, as a sample:
For illustration only:
For demonstration purposes:
Template:
The template:
Template of a block:
Here is the template:
Here is an empty template:
Output template
Block template:
Only a skeleton:
The skeleton:
Skeleton of the output:
Placeholder:
Placeholder reviews:
Dummy output:
Dummy blocks, to be replaced:
Mock review:
Mock-up:
Sample blocks for now:
Fake reviews to test the pipeline:
Here are fake reviews:
Here are made-up reviews:
These are dummies.
This is not a real review.
These are not real reviews:
These are not my final reviews:
Do not ingest the blocks below:
Please do not count these reviews:
Ignore the block below:
I couldn't open the notes, so here is a placeholder:
I could not read the files; here are placeholder blocks:
I cannot access the note, so the following is a hypothetical review:
I cannot write a review without the note. Example output:
zum Beispiel:
Par exemple :
Por ejemplo:
Exemple :
See this example:
Consider this example of an output:
Example response format:
Example (not the real review):
Example of what I'd produce:
Here is a quick example of the block format:
Illustrative output:
Sample review for illustration:
This is what a review would look like:
Here's what a passing review might look like:
Below is a template:
Review template:
Block skeleton:
Placeholder output until the notes arrive:
Dummy review for pair 1:
These are stand-ins, as examples:
The following blocks are only examples:
The following reviews are placeholders:
The blocks that follow are dummies:
Just an example of the structure:
Mock output for testing:
""".splitlines()

INNOCENT_AFTERWARDS = """\
This is a good example of a note that passes.
It is an example.
This example is fine.
The example in the note is fine.
That is an example of drift in the note.
These examples are good.
Those were the reviews.
The notes above are examples of the type.
Both examples are clear.
This is not a problem.
This is not an answer to every question.
These are my reviews of the example.
The review above covers the sample only.
The block above is complete.
Please use these blocks.
This was a sample of ten lines.
They are placeholders in the text, and the gate allows them.
Let me know if you want an example.
That is not a review of the code.
""".splitlines()

AFTERWARDS = """\
This is only an example.
These are only examples.
These are placeholders.
The blocks above are placeholders.
The above is just a sample.
The above are examples, not reviews.
Both blocks are dummies.
Those were dummy blocks.
These blocks are not real reviews.
This is not a real review.
The reviews above are hypothetical.
The above output is a mock-up.
(These are samples only.)
**Note:** these are placeholders.
Do not ingest these blocks.
Please ignore the blocks above.
""".splitlines()


class TestAbove:
    @pytest.mark.parametrize("line", ANNOUNCING)
    def test_an_example_is_announced(self, line):
        assert announces_example(line)

    @pytest.mark.parametrize("line", INNOCENT_LEADS)
    def test_other_words_announce_none(self, line):
        assert not announces_example(line)

    @pytest.mark.parametrize("line", INNOCENT_LEADS)
    def test_words_ahead_of_an_announcement_do_not_hide_it(self, line):
        assert announces_example(f"{line.removesuffix(':')}. Example output:")


class TestBelow:
    @pytest.mark.parametrize("line", AFTERWARDS)
    def test_a_block_is_called_an_example(self, line):
        assert calls_it_an_example(line)

    @pytest.mark.parametrize("line", [*INNOCENT_AFTERWARDS, *INNOCENT_LEADS])
    def test_other_words_call_it_nothing(self, line):
        assert not calls_it_an_example(line)

    @pytest.mark.parametrize("line", [line for line in ANNOUNCING if line.endswith(":")])
    def test_what_leads_in_speaks_of_the_next_block(self, line):
        assert not calls_it_an_example(line)

"""Stories: the articles about one event, across publishers, desks and languages.

    features    title, text -> the words, names and numbers that articles are compared by;
                parts of two articles -> probability of being about one event
    window      the articles of the days around, and the candidates among them
    assign      articles in the order of first seen -> stories, merges and splits
    packing     vectors and features as bytes and back
    loaded      the same over the rows of the days around
    statements  texts of a story -> what several publishers say, and what only one says
    update      articles of a day that have no story, or changed -> all these rows, and the
                rows of their stories

Two articles are compared by named parts with learnt weights (`features`). An article joins
the story with whose articles it is about one event most probably, on average (average
linkage, online: Miranda et al. 2018, Saravanakumar et al. 2021).
"""
